/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The run as a state machine: an event changes the state and yields actions. It
 * performs none of them, and knows nothing of the manager around it, so that a
 * test on the host drives it through every order of events (test-run.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/cluster_map.h>

enum run_phase { RUN_BEFORE, RUN_GOING, RUN_FINISHING, RUN_OVER };
enum run_application_state { APPLICATION_WAITING, APPLICATION_STARTED, APPLICATION_PAUSED, APPLICATION_LOST,
                             APPLICATION_ENDED };

/* All zero: the run before RUN_EVENT_START. */
struct run {
	enum run_phase phase;
	uint32_t status;
	const char *text;   /* it failed, or ended early; null when it did neither */
	bool switch_off;   /* at the end, whatever the map says */
	uint32_t released; /* the last barrier that opened */
	struct run_application {
		enum run_application_state state;
		bool serving;
		uint32_t arrived; /* the last barrier it came to */
		uint32_t status;
		uint32_t restarts;
		bool down; /* it would have been started again, but too often */
	} application[MAP_MAX_APPLICATIONS];
	struct {
		bool booted;   /* it has reported that it runs, in this life or a former one */
		bool finished; /* its last report has come */
		bool absent;   /* it is lost, or no channel leads to it: the end does not wait for it */
		bool away;     /* it is lost, and is being started again: its programs wait for RUN_EVENT_BOOTED */
	} cluster[BOOT_MAX_CLUSTERS]; /* in the map's order */
};

enum run_event_kind {
	RUN_EVENT_START,
	/* in place of START, in a later life of the primary: the others report the state of the run to it */
	RUN_EVENT_RESUME,
	/* of an application, whose index is `subject` */
	RUN_EVENT_STARTED,
	RUN_EVENT_FAILED,    /* it could not be started */
	RUN_EVENT_UNSENT,    /* the order to start it could not be sent */
	RUN_EVENT_SERVING,
	RUN_EVENT_ARRIVED,   /* `value`: number of the barrier */
	RUN_EVENT_EXITED,    /* `value`: exit status */
	RUN_EVENT_KILLED,    /* after a fault */
	RUN_EVENT_DUE,       /* the time to start it again has come */
	/* of a cluster, whose place in the map is `subject` */
	RUN_EVENT_BOOTED,
	RUN_EVENT_LOST,      /* `value`: 1, it is being started again; 0, it stays down, which may come later, too */
	RUN_EVENT_FINISHED,  /* its last report has come */
	/* after RUN_EVENT_RESUME: all was said of its programs; `value`: the last barrier that opened */
	RUN_EVENT_RECOVERED,
	/* of an application that is not known to have been started, after RUN_EVENT_RESUME; `subject`: its index */
	RUN_EVENT_RUNS,      /* `value`: twice the last barrier that it came to, 1 more if it serves */
	RUN_EVENT_OVER,      /* `value`: its status; it is not started again */
	/* of the run */
	RUN_EVENT_DEADLINE,  /* the time for the last reports, which begins with RUN_FINISH, is over */
	RUN_EVENT_BUTTON,    /* the power button was pressed */
	RUN_EVENT_ENDED_BEFORE, /* the run had come to its end in the primary's former life */
	RUN_EVENT_MAIL_LOST, /* an order or report of the primary to itself was lost */
};

struct run_event {
	enum run_event_kind kind;
	uint32_t subject, value;
	bool spent; /* of an end: it may not be started again, whatever its policy is */
};

enum run_action_kind {
	RUN_START,     /* `value`: the application whose cluster is to start it */
	RUN_GIVE_UP,   /* `value`: an application that will not be started, since it awaits one that ended */
	RUN_SERVING,   /* `value`: the application that is reported to all clusters as serving */
	RUN_RESTART,   /* `value`: the application that is down until RUN_EVENT_DUE */
	RUN_STAY_DOWN, /* `value`: an application that would be started again, but too often */
	RUN_AWAY,      /* `value`: an application that is down until its cluster has started again */
	/* `value`: place of a cluster that gets the list of what serves and what ended: it, or the primary, has started
	 * again */
	RUN_CATCH_UP,
	RUN_GONE,      /* `value`: the application that is reported to all clusters as gone */
	RUN_RELEASE,   /* `value`: the barrier that opens */
	RUN_FINISH,    /* all clusters are to send their last reports */
	RUN_DONE,      /* the run is over, with run.status and run.why */
	RUN_POWER_OFF, /* with run.status */
};

/*
 * The most: for each application RUN_START or RUN_GIVE_UP, RUN_SERVING and RUN_GONE; for one RUN_RESTART or
 * RUN_STAY_DOWN; for each cluster RUN_CATCH_UP; for the run four.
 */
enum { RUN_MAX_ACTIONS = 3 * MAP_MAX_APPLICATIONS + BOOT_MAX_CLUSTERS + 5 };

struct run_actions {
	uint32_t count;
	struct run_action {
		enum run_action_kind kind;
		uint32_t value;
	} action[RUN_MAX_ACTIONS];
};

/* Returns whether an event is possible: an application reports only while it is started. Others have no effect. */
bool run_believes(const struct run *run, const struct cluster_map *map, struct run_event event);

/* Changes the state and fills *actions, to be performed in their order. */
void run_step(struct run *run, const struct cluster_map *map, struct run_event event, struct run_actions *actions);
