/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of requests: many of them, shared handles, handles that are used again. */
#include "trace/request_table.h"

#include "testing/assert.h"

enum { MANY = 300000 };

static offbeat_tracer_request_table table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Adds a request that was issued at a time. */
static offbeat_tracer_request *insert(uintptr_t handle, int64_t enter_ns) {
    uint32_t number;
    offbeat_tracer_request *request = offbeat_tracer_request_new(&number);
    request->is_message = 1;
    request->handle = handle;
    request->message.enter_ns = enter_ns;
    offbeat_tracer_request_insert(&table, request);
    return request;
}

/* Takes the request of a handle and frees it. @return when it was issued; -1: there is none */
static int64_t take(uintptr_t handle, int64_t enter_ns) {
    offbeat_tracer_request *request = offbeat_tracer_request_take(&table, handle, enter_ns);
    const int64_t issued_ns = request != NULL ? request->message.enter_ns : -1;
    if (request != NULL && !request->is_persistent)
        offbeat_tracer_request_delete(request);
    return issued_ns;
}

static void test_many_requests_are_found_in_any_order(void) {
    for (int64_t i = 0; i < MANY; i++)
        insert((uintptr_t)(16 * i), i);
    for (int64_t i = 0; i < MANY; i++) {
        const int64_t at = i * 7919 % MANY;
        test_assert(take((uintptr_t)(16 * at), MANY) == at, "request %lld is not found", (long long)at);
    }
    test_assert(table.count == 0 && take(16, MANY) == -1, "%zu requests are left", (size_t)table.count);
}

static void test_requests_of_one_handle_are_taken_in_their_order(void) {
    for (int64_t i = 0; i < MANY; i++)
        insert(5, i);
    insert(6, 77);
    for (int64_t i = 0; i < MANY; i++)
        test_assert(take(5, MANY) == i, "request %lld is taken too late", (long long)i);
    test_assert(take(6, MANY) == 77 && table.count == 0, "the other handle's request is lost");
}

/* A thread completed the request of time 10 and has not looked it up when the library gives its handle to
 * another thread, whose request of time 30 is complete first. */
static void test_threads_find_their_own_request_of_a_handle_used_again(void) {
    offbeat_tracer_requests_share(1);
    insert(8, 10);
    insert(8, 30);
    test_assert(take(8, 40) == 30, "the second thread took the first one's request");
    test_assert(take(8, 20) == 10, "the first thread's request is lost");
    for (int64_t i = 0; i < MANY; i++)
        insert(8, i);
    for (int64_t i = 0; i < MANY; i++)
        test_assert(take(8, MANY) >= 0, "request %lld is lost", (long long)i);
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

int main(void) {
    test_many_requests_are_found_in_any_order();
    test_requests_of_one_handle_are_taken_in_their_order();
    test_threads_find_their_own_request_of_a_handle_used_again();
    test_a_persistent_request_stays_until_it_is_removed();
    return 0;
}
