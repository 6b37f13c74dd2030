-- SPDX-License-Identifier: BSD-2-Clause
create table people (id integer primary key, name text, born integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
    insert into people select i, char(97 + i % 26) || i * 7919 % 10000, 1900 + i * 31 % 120 from n;
create index people_born on people (born);
update people set name = upper(name) where born between 1950 and 1959;
delete from people where born < 1910;
select born / 10 * 10 as decade, count(*) as people, min(name) as first from people group by decade;
pragma integrity_check;
