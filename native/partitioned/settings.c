/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/settings.h"

#include "partitioned/communicator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 64 };

/* The value of a setting as text, and the name of the key or variable that has it. */
typedef struct setting {
    char text[TEXT_BYTES];
    const char *name;
} setting;

/* @return 0 when neither the info object nor the environment has the setting */
static int look_up(MPI_Info info, const char *key, const char *variable, setting *text_setting) {
    int is_set = 0;
    text_setting->name = key;
    if (info != MPI_INFO_NULL)
        PMPI_Info_get(info, key, TEXT_BYTES - 1, text_setting->text, &is_set);
    if (is_set)
        return 1;
    const char *value = variable == NULL ? NULL : getenv(variable);
    if (value == NULL || *value == '\0')
        return 0;
    text_setting->name = variable;
    snprintf(text_setting->text, TEXT_BYTES, "%s", value);
    return 1;
}

static int refuse(const setting *wrong, const char *expected_value, char *why) {
    snprintf(why, OFFBEAT_PARTITIONED_WHY_BYTES, "%s is '%.40s'; it must be %s", wrong->name, wrong->text,
             expected_value);
    return 0;
}

/* Reads a whole number, when it is set. */
static int read_number(MPI_Info info, const char *key, const char *variable, int64_t least, int64_t largest,
                       int64_t *number, char *why) {
    setting text_setting;
    char *end, expected_value[TEXT_BYTES];
    if (!look_up(info, key, variable, &text_setting))
        return 1;
    errno = 0;
    long long value = strtoll(text_setting.text, &end, 10);
    int is_number = text_setting.text[0] >= '0' && text_setting.text[0] <= '9' && *end == '\0' && errno == 0;
    if (!is_number || value < least || value > largest) {
        snprintf(expected_value, sizeof expected_value, "a whole number from %lld to %lld", (long long)least,
                 (long long)largest);
        return refuse(&text_setting, expected_value, why);
    }
    *number = value;
    return 1;
}

static int read_boolean(MPI_Info info, const char *key, const char *variable, int *flag, char *why) {
    setting text_setting;
    if (!look_up(info, key, variable, &text_setting))
        return 1;
    if (strcmp(text_setting.text, "true") != 0 && strcmp(text_setting.text, "false") != 0)
        return refuse(&text_setting, "true or false", why);
    *flag = strcmp(text_setting.text, "true") == 0;
    return 1;
}

static int has_key(MPI_Info info, const char *key) {
    int length, is_set = 0;
    if (info != MPI_INFO_NULL)
        PMPI_Info_get_valuelen(info, key, &length, &is_set);
    return is_set;
}

static int read_messages(MPI_Info info, offbeat_partitioned_send_settings *settings, char *why) {
    const char *key = "offbeat_messages", *variable = "OFFBEAT_PARTITIONED_MESSAGES";
    setting text_setting;
    /* The environment decides for requests without a key: a key for the size wins over a variable for the
     * number. */
    if (has_key(info, "offbeat_message_bytes"))
        variable = NULL;
    if (look_up(info, key, variable, &text_setting) && strcmp(text_setting.text, "learned") == 0) {
        settings->is_learned = 1;
        return 1;
    }
    return read_number(info, key, variable, 1, INT32_MAX, &settings->messages, why);
}

static int read_message_bytes(MPI_Info info, int64_t *bytes, char *why) {
    return read_number(info, "offbeat_message_bytes", "OFFBEAT_PARTITIONED_MESSAGE_BYTES", 1, INT64_MAX,
                       bytes, why);
}

static int read_lane(MPI_Info info, int64_t *lane, char *why) {
    return read_number(info, "offbeat_lane", NULL, 0, INT32_MAX, lane, why);
}

int offbeat_partitioned_read_send_settings(MPI_Info info, offbeat_partitioned_send_settings *settings,
                                           char *why) {
    *settings = (offbeat_partitioned_send_settings){.message_bytes = 1048576, .lane = -1};
    return read_messages(info, settings, why) && read_message_bytes(info, &settings->message_bytes, why) &&
           read_lane(info, &settings->lane, why);
}

static int read_order(MPI_Info info, int *is_in_rank_order, char *why) {
    setting text_setting;
    if (!look_up(info, "offbeat_order", NULL, &text_setting))
        return 1;
    if (strcmp(text_setting.text, "ring") != 0 && strcmp(text_setting.text, "rank") != 0)
        return refuse(&text_setting, "ring or rank", why);
    *is_in_rank_order = strcmp(text_setting.text, "rank") == 0;
    return 1;
}

int offbeat_partitioned_read_collective_settings(MPI_Info info,
                                                 offbeat_partitioned_collective_settings *settings,
                                                 char *why) {
    *settings = (offbeat_partitioned_collective_settings){.lane = -1};
    return read_message_bytes(info, &settings->message_bytes, why) && read_lane(info, &settings->lane, why) &&
           read_number(info, "offbeat_fanout", NULL, 1, INT32_MAX, &settings->fanout, why) &&
           read_order(info, &settings->is_in_rank_order, why);
}

int offbeat_partitioned_read_attach_settings(MPI_Info info, offbeat_partitioned_attach_settings *settings,
                                             char *why) {
    *settings = (offbeat_partitioned_attach_settings){.lanes = 4};
    return read_number(info, "offbeat_lanes", "OFFBEAT_PARTITIONED_LANES", 1, OFFBEAT_PARTITIONED_MOST_LANES,
                       &settings->lanes, why) &&
           read_boolean(info, "offbeat_progress_thread", "OFFBEAT_PARTITIONED_PROGRESS_THREAD",
                        &settings->has_progress_thread, why);
}
