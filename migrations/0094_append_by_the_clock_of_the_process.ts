import { sql, type Kysely } from 'kysely';

/**
 * Appends that carry the clock of the process. Until here the time of an entry was that of the
 * database, never before the entry in front of it: one entry under a clock 40 days ahead put every
 * later one 40 days into the future.
 *
 * `clock`: epoch milliseconds of the process. `newest_max`: the latest time that the newest entry
 * of the log may have; a later one ends the call with SQLSTATE LB002, and nothing is stored. Null:
 * an operator has accepted the log; the entries carry `clock`. The other arguments and the answers
 * are those of the functions of before (0001, 0005, 0014), which stay for processes of the previous
 * release.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function ledger.recording_time(newest bigint, clock bigint, newest_max bigint) returns bigint
    language plpgsql as $function$
    begin
      if newest > newest_max then
        raise exception 'the newest entry of the log is ahead of the clock' using errcode = 'LB002';
      end if;
      return case when newest_max is null then clock else greatest(newest, clock) end;
    end
    $function$`.execute(db);

  await sql`
    create function ledger.append_one_at(
      stream_end uuid, stream_name text, expected bigint, id uuid, event_type text, event_data text, event_metadata text,
      clock bigint, newest_max bigint
    ) returns bigint[] language plpgsql as $function$
    declare
      new_position bigint;
      recorded bigint;
    begin
      if expected < 0 then
        insert into ledger.streams (stream, revision) values (stream_name, 0) on conflict do nothing;
      else
        update ledger.streams s set revision = expected + 1 where s.stream = stream_name and s.revision = expected;
      end if;
      if not found then
        return null;
      end if;
      if stream_end is not null then
        perform from ledger.events e where e.stream = stream_name and e.revision = expected and e.event_id = stream_end;
        if not found then
          raise exception 'the stream ends in another event' using errcode = 'LB001';
        end if;
      end if;

      update ledger.log_head h
         set position = h.position + 1,
             recorded_at = ledger.recording_time(h.recorded_at, clock, newest_max)
       where h.only_row
      returning h.position, h.recorded_at into strict new_position, recorded;

      insert into ledger.events (position, stream, revision, event_id, type, data, metadata, recorded_at, append_offset)
      values (new_position, stream_name, expected + 1, id, event_type, event_data, event_metadata, recorded, 0);

      perform pg_notify('ledger_events', new_position::text);
      return array[new_position, recorded];
    end
    $function$`.execute(db);

  await sql`
    create function ledger.append_batch_at(
      streams text[], expected bigint[], counts integer[], lock_order integer[],
      append_places integer[], append_offsets integer[], ids uuid[], types text[], datas text[], metadatas text[],
      clock bigint, newest_max bigint, ends uuid[],
      out position_before bigint, out recorded bigint, out refused bigint[]
    ) language plpgsql as $function$
    declare
      place integer;
      accepted boolean[];
      accepted_events integer := 0;
      first_event integer;
      actual bigint;
      again record;
    begin
      foreach place in array lock_order loop
        if expected[place] < 0 then
          insert into ledger.streams (stream, revision) values (streams[place], counts[place] - 1) on conflict do nothing;
        else
          update ledger.streams s set revision = s.revision + counts[place]
           where s.stream = streams[place] and s.revision = expected[place];
        end if;
        if found then
          accepted_events := accepted_events + counts[place];
        else
          if accepted is null then
            accepted := array_fill(true, array[cardinality(streams)]);
          end if;
          accepted[place] := false;
          actual := (select s.revision from ledger.streams s where s.stream = streams[place]);
          first_event := array_position(append_places, place);
          -- The same append stands here if all its events do, under the same places, and no further event of the append follows.
          select count(*) filter (where e.append_offset = e.revision - expected[place] - 1 and e.event_id = ids[first_event + e.append_offset]) as found_events,
                 max(e.append_offset) filter (where e.revision = expected[place] + counts[place] + 1) as next_offset,
                 max(e.position) filter (where e.revision = expected[place] + counts[place]) as last_position,
                 max(e.recorded_at) filter (where e.revision = expected[place] + counts[place]) as last_recorded
            into again
            from ledger.events e
           where e.stream = streams[place] and e.revision between expected[place] + 1 and expected[place] + counts[place] + 1;
          if again.found_events = counts[place] and coalesce(again.next_offset, 0) = 0 then
            refused := refused || array[place, 1, actual, expected[place] + counts[place], again.last_position, again.last_recorded];
          else
            refused := refused || array[place, 0, coalesce(actual, -1), 0, 0, 0];
          end if;
        end if;
      end loop;

      if accepted_events = 0 then
        return;
      end if;

      update ledger.log_head h
         set position = h.position + accepted_events,
             recorded_at = ledger.recording_time(h.recorded_at, clock, newest_max)
       where h.only_row
      returning h.position - accepted_events, h.recorded_at into strict position_before, recorded;

      if accepted is null then
        insert into ledger.events (position, stream, revision, event_id, type, data, metadata, recorded_at, append_offset)
        select position_before + e.arrival, streams[e.place], expected[e.place] + 1 + e.append_offset,
               e.event_id, e.type, e.data, e.metadata, recorded, e.append_offset
          from unnest(append_places, append_offsets, ids, types, datas, metadatas) with ordinality
               as e (place, append_offset, event_id, type, data, metadata, arrival);
      else
        insert into ledger.events (position, stream, revision, event_id, type, data, metadata, recorded_at, append_offset)
        select position_before + row_number() over (order by e.arrival), streams[e.place], expected[e.place] + 1 + e.append_offset,
               e.event_id, e.type, e.data, e.metadata, recorded, e.append_offset
          from unnest(append_places, append_offsets, ids, types, datas, metadatas) with ordinality
               as e (place, append_offset, event_id, type, data, metadata, arrival)
         where accepted[e.place];
      end if;

      if ends is not null then
        perform
           from unnest(lock_order) as o (place)
          where ends[o.place] <> '00000000-0000-0000-0000-000000000000'
            and (accepted is null or accepted[o.place])
            and not exists (
              select from ledger.events e
               where e.stream = streams[o.place] and e.revision = expected[o.place] and e.event_id = ends[o.place]);
        if found then
          raise exception 'a stream ends in another event' using errcode = 'LB001';
        end if;
      end if;

      perform pg_notify('ledger_events', (position_before + accepted_events)::text);
    end
    $function$`.execute(db);

  await sql`
    create function ledger.append_distinct_at(
      streams text[], expected bigint[], counts integer[], lock_order integer[],
      append_places integer[], append_offsets integer[], ids uuid[], types text[], datas text[], metadatas text[],
      clock bigint, newest_max bigint, ends uuid[],
      out position_before bigint, out recorded bigint, out refused bigint[]
    ) language plpgsql as $function$
    declare
      created integer := 0;
      moved integer := 0;
      accepted boolean[];
      accepted_events integer := cardinality(ids);
      first_event integer;
      current record;
      again record;
    begin
      if expected[lock_order[1]] < 0 then
        insert into ledger.streams (stream, revision)
        select streams[o.place], counts[o.place] - 1
          from unnest(lock_order) as o (place)
         where expected[o.place] < 0
            on conflict do nothing;
        get diagnostics created = row_count;
      end if;
      if expected[lock_order[cardinality(lock_order)]] >= 0 then
        update ledger.streams s set revision = s.revision + counts[o.place]
          from unnest(lock_order) as o (place)
         where expected[o.place] >= 0 and s.stream = streams[o.place] and s.revision = expected[o.place];
        get diagnostics moved = row_count;
      end if;

      if created + moved < cardinality(streams) then
        accepted := array_fill(true, array[cardinality(streams)]);
        for place in 1 .. cardinality(streams) loop
          select s.revision, s.xmin = pg_current_xact_id()::xid as is_ours into current
            from ledger.streams s where s.stream = streams[place];
          if current.is_ours and current.revision = expected[place] + counts[place] then
            continue;
          end if;
          accepted[place] := false;
          accepted_events := accepted_events - counts[place];
          first_event := array_position(append_places, place);
          -- The same append stands here if all its events do, under the same places, and no further event of the append follows.
          select count(*) filter (where e.append_offset = e.revision - expected[place] - 1 and e.event_id = ids[first_event + e.append_offset]) as found_events,
                 max(e.append_offset) filter (where e.revision = expected[place] + counts[place] + 1) as next_offset,
                 max(e.position) filter (where e.revision = expected[place] + counts[place]) as last_position,
                 max(e.recorded_at) filter (where e.revision = expected[place] + counts[place]) as last_recorded
            into again
            from ledger.events e
           where e.stream = streams[place] and e.revision between expected[place] + 1 and expected[place] + counts[place] + 1;
          if again.found_events = counts[place] and coalesce(again.next_offset, 0) = 0 then
            refused := refused || array[place, 1, current.revision, expected[place] + counts[place], again.last_position, again.last_recorded];
          else
            refused := refused || array[place, 0, coalesce(current.revision, -1), 0, 0, 0];
          end if;
        end loop;
        if accepted_events = 0 then
          return;
        end if;
      end if;

      update ledger.log_head h
         set position = h.position + accepted_events,
             recorded_at = ledger.recording_time(h.recorded_at, clock, newest_max)
       where h.only_row
      returning h.position - accepted_events, h.recorded_at into strict position_before, recorded;

      if accepted is null then
        insert into ledger.events (position, stream, revision, event_id, type, data, metadata, recorded_at, append_offset)
        select position_before + e.arrival, streams[e.place], expected[e.place] + 1 + e.append_offset,
               e.event_id, e.type, e.data, e.metadata, recorded, e.append_offset
          from unnest(append_places, append_offsets, ids, types, datas, metadatas) with ordinality
               as e (place, append_offset, event_id, type, data, metadata, arrival);
      else
        insert into ledger.events (position, stream, revision, event_id, type, data, metadata, recorded_at, append_offset)
        select position_before + row_number() over (order by e.arrival), streams[e.place], expected[e.place] + 1 + e.append_offset,
               e.event_id, e.type, e.data, e.metadata, recorded, e.append_offset
          from unnest(append_places, append_offsets, ids, types, datas, metadatas) with ordinality
               as e (place, append_offset, event_id, type, data, metadata, arrival)
         where accepted[e.place];
      end if;

      if ends is not null then
        perform
           from unnest(lock_order) as o (place)
          where ends[o.place] <> '00000000-0000-0000-0000-000000000000'
            and (accepted is null or accepted[o.place])
            and not exists (
              select from ledger.events e
               where e.stream = streams[o.place] and e.revision = expected[o.place] and e.event_id = ends[o.place]);
        if found then
          raise exception 'a stream ends in another event' using errcode = 'LB001';
        end if;
      end if;

      perform pg_notify('ledger_events', (position_before + accepted_events)::text);
    end
    $function$`.execute(db);

  await sql`
    comment on column ledger.events.recorded_at is
      'Epoch milliseconds of the clock of the process. Positions order the log, times never'`.execute(db);

  await sql`
    create table ledger.clock_acceptances (
      log_id text not null,
      accepted_at timestamptz not null default now(),
      accepted_by text not null,
      reason text not null,
      position text not null,
      recorded_at bigint not null,
      primary key (log_id, position)
    )`.execute(db);
  await sql`
    comment on table ledger.clock_acceptances is
      'The newest entries that were ahead of the clock when an operator accepted the log'`.execute(db);
}
