/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doubly linked lists, through a member of what they hold. The head is a link,
 * too; it points at itself while the list is empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *previous; /* next is null in a link that is in no list */
};

/* The structure of which `link` is the member of this name. */
#define LIST_OF(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *head) { head->next = head->previous = head; }
static inline bool list_is_empty(const struct list *head) { return head->next == head; }
static inline bool list_is_linked(const struct list *link) { return link->next; }

/* In front of another link; in front of the head is the list's end. */
static inline void list_insert(struct list *link, struct list *before)
{
	link->next = before;
	link->previous = before->previous;
	before->previous->next = link;
	before->previous = link;
}

static inline void list_append(struct list *head, struct list *link) { list_insert(link, head); }
static inline void list_prepend(struct list *head, struct list *link) { list_insert(link, head->next); }

static inline void list_remove(struct list *link)
{
	link->next->previous = link->previous;
	link->previous->next = link->next;
	link->next = NULL;
}
