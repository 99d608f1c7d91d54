/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of requests: many of them, shared handles, handles that are used again. */
#include "trace/request_table.h"

#include "testing/assert.h"

enum { REQUESTS = 300000 };

static offbeat_tracer_request_table table;

/* Adds a request that was issued at a time. */
static offbeat_tracer_request *insert(uintptr_t handle, int64_t enter_ns) {
    offbeat_tracer_requests_lock();
    offbeat_tracer_request *request = offbeat_tracer_request_new();
    request->is_message = 1;
    request->message.enter_ns = enter_ns;
    offbeat_tracer_request_insert(&table, request, handle);
    offbeat_tracer_requests_unlock();
    return request;
}

/* Takes the request of a handle. @return when it was issued; -1: there is none */
static int64_t take(uintptr_t handle, int64_t enter_ns) {
    offbeat_tracer_request copy, *request = offbeat_tracer_request_take(&table, handle, enter_ns, &copy);
    return request != NULL ? request->message.enter_ns : -1;
}

static void test_many_requests_are_found_in_any_order(void) {
    for (int64_t i = 0; i < REQUESTS; i++)
        insert((uintptr_t)(16 * i), i);
    for (int64_t i = 0; i < REQUESTS; i++) {
        const int64_t index = i * 7919 % REQUESTS;
        test_assert(take((uintptr_t)(16 * index), REQUESTS) == index, "request %lld is not found",
                    (long long)index);
    }
    test_assert(table.count == 0 && take(16, REQUESTS) == -1, "%zu requests are left", (size_t)table.count);
}

static void test_requests_of_one_handle_are_taken_in_their_order(void) {
    for (int64_t i = 0; i < REQUESTS; i++)
        insert(5, i);
    insert(6, 77);
    for (int64_t i = 0; i < REQUESTS; i++)
        test_assert(take(5, REQUESTS) == i, "request %lld is taken too late", (long long)i);
    test_assert(take(6, REQUESTS) == 77 && table.count == 0, "the other handle's request is lost");
}

/* A thread completed the request of time 10 and has not looked it up when the library gives its handle to
 * another thread, whose request of time 30 is complete first. */
static void test_threads_find_their_own_request_of_a_handle_used_again(void) {
    offbeat_tracer_requests_share(1);
    insert(8, 10);
    insert(8, 30);
    test_assert(take(8, 40) == 30, "the second thread took the first one's request");
    test_assert(take(8, 20) == 10, "the first thread's request is lost");
    for (int64_t i = 0; i < REQUESTS; i++)
        insert(8, i);
    for (int64_t i = 0; i < REQUESTS; i++)
        test_assert(take(8, REQUESTS) >= 0, "request %lld is lost", (long long)i);
    offbeat_tracer_requests_share(0);
}

static void test_a_persistent_request_stays_until_it_is_removed(void) {
    offbeat_tracer_request *request = insert(9, 1);
    request->is_persistent = 1;
    test_assert(take(9, 5) == 1 && take(9, 6) == 1, "the request is gone");
    test_assert(offbeat_tracer_request_find(&table, 9) == request, "the request is not found");
    offbeat_tracer_request_remove(&table, request);
    test_assert(table.count == 0 && take(9, 7) == -1, "the request is still there");
}

/* A thread has taken a request and reads it while another thread issues one, which gets its memory. */
static void test_what_a_thread_took_stays_as_it_was_while_others_issue(void) {
    offbeat_tracer_requests_share(1);
    insert(10, 1);
    offbeat_tracer_request copy, *taken_request = offbeat_tracer_request_take(&table, 10, 5, &copy);
    offbeat_tracer_request *new_request = insert(11, 2);
    test_assert(taken_request->message.enter_ns == 1 && taken_request != new_request,
                "the request that was taken has changed");
    test_assert(take(11, 5) == 2, "the other thread's request is lost");
    offbeat_tracer_requests_share(0);
}

/* Each request is used again after it was taken: memory does not grow with the number of messages. */
static void test_requests_are_used_again(void) {
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        offbeat_tracer_requests_share(is_shared);
        offbeat_tracer_request *first = insert(12, 1);
        take(12, 5);
        for (uintptr_t handle = 13; handle < 1013; handle++) {
            test_assert(insert(handle, 1) == first, "request %zu is in other memory", (size_t)handle);
            take(handle, 5);
        }
    }
    offbeat_tracer_requests_share(0);
}

int main(void) {
    test_many_requests_are_found_in_any_order();
    test_requests_of_one_handle_are_taken_in_their_order();
    test_threads_find_their_own_request_of_a_handle_used_again();
    test_a_persistent_request_stays_until_it_is_removed();
    test_what_a_thread_took_stays_as_it_was_while_others_issue();
    test_requests_are_used_again();
    return 0;
}
