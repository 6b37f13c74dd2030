/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoll. A watch is one file in one epoll; it hangs in the file's list, in the
 * epoll's list of all, and, while its file may be ready, in the ready list.
 * Changes of readiness and waiting cost nothing for files that stay idle.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <skerry/list.h>
#include "layer.h"

struct watch {
	struct list ready, all;   /* links in the epoll's lists of those names */
	struct watch *of_file;    /* next in file->watches */
	struct file *file;
	struct epoll *epoll;
	int fd;
	uint32_t events;          /* 0: a one-shot that has fired */
	epoll_data_t data;
};

struct epoll {
	struct file file;
	struct list ready, all;
};

static uint32_t wanted_events(const struct watch *w)
{
	return w->events & ~(EPOLLET | EPOLLONESHOT) ? w->events | EPOLLERR | EPOLLHUP : 0;
}

static void mark_ready(struct watch *w)
{
	require(list_is_linked(&w->all));
	if (list_is_linked(&w->ready))
		return;
	list_append(&w->epoll->ready, &w->ready);
	if (!(w->epoll->file.ready & EPOLLIN))
		file_ready_changed(&w->epoll->file, EPOLLIN); /* an epoll can be watched itself */
}

void watch_changed(struct watch *first, uint32_t edges, uint32_t fresh)
{
	for (struct watch *w = first; w; w = w->of_file)
		if ((w->events & EPOLLET ? edges : fresh) & wanted_events(w))
			mark_ready(w);
}

static void watch_drop(struct watch *w)
{
	struct watch **link = &w->file->watches;

	while (*link != w) {
		require(*link);
		link = &(*link)->of_file;
	}
	*link = w->of_file;
	if (list_is_linked(&w->ready))
		list_remove(&w->ready);
	list_remove(&w->all);
	layer_free(w);
}

void watch_drop_all(struct file *file)
{
	while (file->watches)
		watch_drop(file->watches);
}

static void epoll_close(struct file *file)
{
	struct epoll *e = (struct epoll *)file;

	while (!list_is_empty(&e->all))
		watch_drop(LIST_OF(e->all.next, struct watch, all));
	layer_free(e);
}

static const struct file_operations epoll_ops = { .name = "epoll", .close = epoll_close };

static struct epoll *epoll_of(int fd)
{
	struct file *file = descriptor_file(fd);

	return file && file->ops == &epoll_ops ? (struct epoll *)file : 0;
}

long sys_epoll_create1(const long *a)
{
	struct epoll *e = layer_allocate(sizeof(*e));

	(void)a; /* close-on-exec is the only flag */
	if (!e)
		return -ENOMEM;
	file_init(&e->file, &epoll_ops, 0);
	list_init(&e->ready);
	list_init(&e->all);
	return descriptor_open(&e->file, 0);
}

long sys_epoll_create(const long *a) { return a[0] > 0 ? sys_epoll_create1(a) : -EINVAL; }

static struct watch *watch_find(struct epoll *e, struct file *file, int fd)
{
	struct watch *w = file->watches;

	while (w && (w->epoll != e || w->fd != fd))
		w = w->of_file;
	return w;
}

static void set_events(struct watch *w, const struct epoll_event *event)
{
	w->events = event->events;
	w->data = event->data;
	w->file->edge_triggered |= (event->events & EPOLLET) != 0;
}

static int watch_add(struct epoll *e, struct file *file, int fd, const struct epoll_event *event)
{
	struct watch *w = layer_allocate(sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->file = file;
	w->epoll = e;
	w->fd = fd;
	set_events(w, event);
	w->of_file = file->watches;
	file->watches = w;
	list_append(&e->all, &w->all);
	if (file->ready & wanted_events(w))
		mark_ready(w);
	return 0;
}

long sys_epoll_ctl(const long *a)
{
	struct epoll *e = epoll_of((int)a[0]);
	struct file *file = descriptor_file((int)a[2]);
	const struct epoll_event *event = (const struct epoll_event *)a[3];

	if (!descriptor_file((int)a[0]) || !file)
		return -EBADF;
	if (!e || file == &e->file)
		return -EINVAL;
	struct watch *w = watch_find(e, file, (int)a[2]);
	switch (a[1]) {
	case EPOLL_CTL_ADD:
		return w ? -EEXIST : watch_add(e, file, (int)a[2], event);
	case EPOLL_CTL_MOD:
		if (!w)
			return -ENOENT;
		set_events(w, event);
		if (file->ready & wanted_events(w))
			mark_ready(w);
		return 0;
	case EPOLL_CTL_DEL:
		if (!w)
			return -ENOENT;
		watch_drop(w);
		return 0;
	default:
		return -EINVAL;
	}
}

/* The links of the list before this one go to its end, in their order. */
static void rotate_to(struct list *head, struct list *first)
{
	struct list *skipped = head->next, *last = first->previous;

	if (skipped == first)
		return;
	require(first != head);
	head->next = first;
	first->previous = head;
	skipped->previous = head->previous;
	head->previous->next = skipped;
	head->previous = last;
	last->next = head;
}

/* Watches leave the list when found idle. Level-triggered ones stay, and are looked at again behind those that found no
 * room. */
static int epoll_harvest(struct epoll *e, struct epoll_event *out, int room)
{
	struct list *link = e->ready.next;
	int count = 0;

	require(room > 0);
	while (link != &e->ready && count < room) {
		struct watch *w = LIST_OF(link, struct watch, ready);
		uint32_t events = w->file->ready & wanted_events(w);

		link = link->next;
		if (events)
			out[count++] = (struct epoll_event){ .events = events, .data = w->data };
		if (events && w->events & EPOLLONESHOT)
			w->events = 0;
		if (!events || !w->events || w->events & EPOLLET)
			list_remove(&w->ready);
	}
	if (link != &e->ready)
		rotate_to(&e->ready, link);
	else if (list_is_empty(&e->ready))
		e->file.ready = 0;
	return count;
}

/* Returns whether a file is ready. Level-triggered watches of files that no longer are leave the list. */
static bool any_ready(struct epoll *e)
{
	while (!list_is_empty(&e->ready)) {
		struct watch *w = LIST_OF(e->ready.next, struct watch, ready);

		if (w->file->ready & wanted_events(w))
			return true;
		list_remove(&w->ready);
	}
	e->file.ready = 0;
	return false;
}

/* The network is polled here while files are ready, and by event_sleep() when none is. */
long sys_epoll_pwait(const long *a)
{
	struct epoll *e = epoll_of((int)a[0]);
	struct epoll_event *out = (struct epoll_event *)a[1];
	int room = (int)a[2], timeout = (int)a[3];
	int error;

	if (!e)
		return descriptor_file((int)a[0]) ? -EINVAL : -EBADF;
	if (room <= 0)
		return -EINVAL;
	if (!timeout || any_ready(e))
		event_poll();
	int count = epoll_harvest(e, out, room);
	if (count || !timeout)
		return count;
	uint64_t deadline = timeout > 0 ? deadline_after_milliseconds((uint64_t)timeout) : 0;
	file_hold(&e->file);
	while (!count && !(error = event_sleep(deadline)))
		count = epoll_harvest(e, out, room);
	if (!count && error == -EAGAIN) /* too late, but what came with the last poll counts */
		count = epoll_harvest(e, out, room);
	file_put(&e->file);
	return !count && error == -EINTR ? -EINTR : count;
}

long sys_epoll_wait(const long *a) { return sys_epoll_pwait(a); }
