/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

void an_end(void);
void an_end_of_all(void);
void its_own_end(void);
void given_up(void);
void cut_off(void);
void an_end_while_cut_off(void);
