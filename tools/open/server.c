/*
 * server.c - a small HTTP server for one file: GET, HEAD and OPTIONS, one request a connection.
 *
 * One loop of poll() serves all clients, so that no client waits for a slow one. A client that does
 * not send its request in time, or takes nothing for too long, is dropped. The file is sent in
 * chunks, so that a client can tell a complete file from a cut one. A fetch counts when the
 * client has closed the connection after the last chunk, or when its system has acknowledged all of
 * it.
 *
 * Threads, memory: see server.h.
 */
#include "open/server.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "open/body.h"
#include "open/request.h"

#define CLIENTS_MAX   16
#define REQUEST_BYTES 8192
#define REQUEST_S     10
#define IDLE_S        30
#define CLOSED_S      2

enum state {
    READING, /* its request */
    SENDING,
    ENDING, /* all is sent; waits until the client closes */
    CLOSED  /* the client has closed, but its system has not acknowledged everything */
};

struct client {
    int fd;
    enum state state;
    int is_get, is_chunked;
    int64_t deadline_s;
    char request[REQUEST_BYTES];
    size_t request_size;
    struct sl_open_body *body; /* NULL: nothing follows */
    char *out;                 /* bytes to send */
    size_t out_size, out_room, sent;
    uint64_t sent_bytes; /* of all blocks */
};

struct server {
    int listener; /* -1: the file was fetched, and no new client is taken */
    struct sl_open_file *file;
    struct client *client[CLIENTS_MAX];
    int clients;
};

static int64_t now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

int sl_open_listen(uint16_t *port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, rc;
    socklen_t size = sizeof(at);

    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, CLIENTS_MAX) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &size) == 0) {
        *port = ntohs(at.sin_port);
        return fd;
    }
    rc = -errno;
    close(fd);
    return rc;
}

/* ---- clients ---- */

static void drop(struct server *s, int index)
{
    struct client *c = s->client[index];

    close(c->fd);
    sl_open_body_close(c->body);
    free(c->out);
    free(c);
    s->client[index] = s->client[--s->clients];
}

static void accept_client(struct server *s)
{
    int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct client *c = fd < 0 ? NULL : calloc(1, sizeof(*c));

    if (!c) {
        if (fd >= 0)
            close(fd);
        return;
    }
    c->fd = fd;
    c->deadline_s = now_s() + REQUEST_S;
    s->client[s->clients++] = c;
}

/* Adds bytes to what is to be sent. Returns 0 or -ENOMEM. */
static int put(struct client *c, const char *data, size_t size)
{
    if (c->out_room - c->out_size < size) {
        char *more = realloc(c->out, c->out_size + size);

        if (!more)
            return -ENOMEM;
        c->out = more;
        c->out_room = c->out_size + size;
    }
    memcpy(c->out + c->out_size, data, size);
    c->out_size += size;
    return 0;
}

static int put_text(struct client *c, const char *text)
{
    return put(c, text, strlen(text));
}

/* ---- answers ---- */

/* Only Perfetto's page may read the file. */
#define FOR_PERFETTO                                                                               \
    "Access-Control-Allow-Origin: https://ui.perfetto.dev\r\n"                                     \
    "Cache-Control: no-store\r\n"                                                                  \
    "Connection: close\r\n"

static int answer(struct server *s, struct client *c, struct sl_open_request request)
{
    char why[256];
    int has_file = request.method == SL_OPEN_GET || request.method == SL_OPEN_HEAD;

    c->state = SENDING;
    c->is_get = request.method == SL_OPEN_GET;
    c->is_chunked = !request.is_old;
    if (c->is_get && sl_open_body_open(&c->body, s->file->path, why, sizeof(why)) != 0) {
        snprintf(s->file->trouble, sizeof(s->file->trouble), "%s", why);
        c->is_get = has_file = 0;
    }
    if (has_file)
        return put_text(
            c, request.is_old ? "HTTP/1.0 200 OK\r\nContent-Type: application/gzip\r\n" FOR_PERFETTO
                                "\r\n"
                              : "HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\n"
                                "Transfer-Encoding: chunked\r\n" FOR_PERFETTO "\r\n");
    if (request.method == SL_OPEN_OPTIONS)
        return put_text(c, "HTTP/1.1 204 No Content\r\n"
                           "Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n"
                           "Access-Control-Allow-Private-Network: true\r\n" FOR_PERFETTO "\r\n");
    return put_text(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

/* Puts the next block of the file. Returns 0 or a negative errno. */
static int put_block(struct server *s, struct client *c)
{
    const char *data;
    ssize_t size = sl_open_body_read(c->body, &data);
    char head[24];
    int rc;

    if (size < 0)
        return (int)size;
    if (size == 0) {
        snprintf(s->file->trouble, sizeof(s->file->trouble), "%s", sl_open_body_trouble(c->body));
        sl_open_body_close(c->body);
        c->body = NULL;
        return c->is_chunked ? put_text(c, "0\r\n\r\n") : 0;
    }
    c->sent_bytes += (uint64_t)size;
    if (!c->is_chunked)
        return put(c, data, (size_t)size);
    snprintf(head, sizeof(head), "%zx\r\n", (size_t)size);
    rc = put_text(c, head);
    if (rc == 0)
        rc = put(c, data, (size_t)size);
    return rc ? rc : put_text(c, "\r\n");
}

/* ---- events ---- */

/* Returns 1 if the client's system has everything but perhaps the end of the connection, which
 * counts as a byte. */
static int has_all(const struct client *c)
{
    int bytes = 0;

    return ioctl(c->fd, SIOCOUTQ, &bytes) == 0 && bytes <= 1;
}

static void count_fetch(struct server *s, const struct client *c)
{
    if (!c->is_get)
        return;
    s->file->sent_bytes = c->sent_bytes;
    if (s->listener >= 0)
        close(s->listener);
    s->listener = -1;
}

/* Returns 1 if an operation on a descriptor may be tried again later. */
static int is_later(void)
{
    return errno == EAGAIN || errno == EINTR;
}

/* Returns 0, or -1 if the client is to be dropped. */
static int on_request(struct server *s, struct client *c)
{
    ssize_t size = recv(c->fd, c->request + c->request_size, REQUEST_BYTES - c->request_size, 0);
    struct sl_open_request request;

    if (size <= 0)
        return size < 0 && is_later() ? 0 : -1;
    c->request_size += (size_t)size;
    request = sl_open_request_parse(c->request, c->request_size, s->file->name);
    if (request.method == SL_OPEN_UNFINISHED && c->request_size < REQUEST_BYTES)
        return 0;
    c->deadline_s = now_s() + IDLE_S;
    return answer(s, c, request);
}

static int on_room(struct server *s, struct client *c)
{
    ssize_t size;

    if (c->sent == c->out_size) {
        c->sent = c->out_size = 0;
        if (c->body && put_block(s, c) != 0)
            return -1;
        if (c->out_size == 0) {
            c->state = ENDING;
            return shutdown(c->fd, SHUT_WR);
        }
    }
    size = send(c->fd, c->out + c->sent, c->out_size - c->sent, MSG_NOSIGNAL);
    if (size < 0)
        return is_later() ? 0 : -1;
    c->sent += (size_t)size;
    c->deadline_s = now_s() + IDLE_S;
    return 0;
}

/* The client has closed its side, or sends what nobody reads. */
static int on_end(struct server *s, struct client *c)
{
    char rest[4096];
    ssize_t size = recv(c->fd, rest, sizeof(rest), 0);

    if (size > 0 || (size < 0 && is_later()))
        return 0;
    if (size < 0)
        return -1;
    if (has_all(c)) {
        count_fetch(s, c);
        return -1;
    }
    c->state = CLOSED;
    c->deadline_s = now_s() + CLOSED_S;
    return 0;
}

static int on_event(struct server *s, struct client *c, int is_late)
{
    if (is_late && c->state >= ENDING && has_all(c))
        count_fetch(s, c);
    if (is_late || c->state == CLOSED)
        return -1;
    return c->state == READING   ? on_request(s, c)
           : c->state == SENDING ? on_room(s, c)
                                 : on_end(s, c);
}

/* Returns 1 if a client is fetching the file, or the file was not fetched yet. */
static int has_work(const struct server *s)
{
    if (s->listener >= 0)
        return 1;
    for (int i = 0; i < s->clients; i++)
        if (s->client[i]->is_get)
            return 1;
    return 0;
}

static int wait_and_serve(struct server *s)
{
    struct pollfd fds[CLIENTS_MAX + 1];
    int64_t now = now_s(), timeout_s = INT32_MAX / 1000;

    for (int i = 0; i < s->clients; i++) {
        struct client *c = s->client[i];
        int64_t left_s = c->deadline_s > now ? c->deadline_s - now : 0;

        fds[i] = (struct pollfd){.fd = c->fd,
                                 .events = c->state == SENDING  ? POLLOUT
                                           : c->state == CLOSED ? 0
                                                                : POLLIN};
        timeout_s = left_s < timeout_s ? left_s : timeout_s;
    }
    fds[s->clients] =
        (struct pollfd){.fd = s->clients < CLIENTS_MAX ? s->listener : -1, .events = POLLIN};
    if (poll(fds, (nfds_t)s->clients + 1, (int)timeout_s * 1000) < 0)
        return errno == EINTR ? 0 : -errno;
    now = now_s();
    if (fds[s->clients].revents && s->clients < CLIENTS_MAX) {
        accept_client(s);
        return 0; /* the others are served in the next turn */
    }
    for (int i = s->clients - 1; i >= 0; i--) {
        int is_late = now >= s->client[i]->deadline_s;

        if ((fds[i].revents || is_late) && on_event(s, s->client[i], is_late) != 0)
            drop(s, i);
    }
    return 0;
}

int sl_open_serve(int listener, struct sl_open_file *file)
{
    struct server s = {.listener = listener, .file = file};
    int rc = 0;

    while (rc == 0 && has_work(&s))
        rc = wait_and_serve(&s);
    while (s.clients)
        drop(&s, s.clients - 1);
    if (s.listener >= 0)
        close(s.listener);
    return rc;
}
