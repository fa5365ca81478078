import { sql, type Kysely } from 'kysely';

/**
 * The event log: one row that knows the newest position, one row per stream that knows its revision, and the events.
 *
 * `data` and `metadata` are text, not jsonb: digests are taken over the stored bytes, and jsonb would give back others.
 * Names of streams are compared byte by byte (`collate "C"`): faster, and the index survives an upgrade of the system's collations.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Updated by every batch: the empty rest of its page takes the new versions, so that every update is a heap-only one that
  // touches no index, and the page is cleaned by the next update that finds it full instead of by a vacuum.
  await sql`
    create table ledger.log_head (
      only_row boolean primary key default true check (only_row),
      log_id uuid not null default gen_random_uuid(),
      position bigint not null default 0,
      recorded_at bigint not null default 0
    ) with (fillfactor = 10, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0)`.execute(db);
  await sql`insert into ledger.log_head default values`.execute(db);
  await sql`comment on column ledger.log_head.recorded_at is 'Epoch milliseconds of the newest event'`.execute(db);

  // A stream's row is updated by each append to it; no index holds the revision, so room in the page keeps updates heap-only.
  await sql`
    create table ledger.streams (
      stream text collate "C" primary key,
      revision bigint not null
    ) with (fillfactor = 70)`.execute(db);

  await sql`
    create table ledger.events (
      position bigint primary key,
      stream text collate "C" not null,
      revision bigint not null,
      event_id uuid not null,
      type text not null,
      data text not null,
      metadata text not null,
      recorded_at bigint not null,
      append_offset integer not null,
      unique (stream, revision)
    )`.execute(db);
  await sql`comment on column ledger.events.recorded_at is 'Epoch milliseconds of the server clock, never less than an earlier position''s'`.execute(
    db,
  );
  await sql`
    comment on column ledger.events.append_offset is
    'Place within its append, from 0: tells an append that is sent again from a part of it, or from two of them together'`.execute(db);

  // One call is one transaction is one round trip.
  //
  // Appends in the order of arrival: `streams`, the revision that each must have (-1: must not exist), how many events it brings;
  // `lock_order`: their places (from 1) sorted by stream name, those of one stream in the order of arrival. Events in the order of
  // arrival: the place of their append and their place within it (`append_offsets`, from 0), then what is stored.
  //
  // The n-th accepted event has position `position_before` + n and time `recorded`; both are null when nothing was accepted.
  // `refused` (null for none) holds six numbers for each append that was not accepted: its place; 1 if it is a repeated one, 0 if it conflicts; the
  // stream's revision, -1 without a stream; and for a repeated one the revision, position and time of its last event.
  //
  // Why this holds under READ COMMITTED with any number of processes:
  // - A stream's row is locked by whoever moves it, until the end. Another one's update waits, then looks at the row again and
  //   finds another revision; another one's insert waits, then does nothing. What is asked next is a new statement with a new
  //   snapshot and sees the events of the one waited for: a repeated append is recognised even while the first one runs.
  // - Rows are locked in the order of the names and the head last, in every process: nobody waits in a circle.
  // - The head is held until the commit is visible, then the next one goes on. So positions have no gaps (an abort gives its
  //   positions back) and become visible in their order: who sees one position sees all before it.
  // - The time is taken while the head is held, and is never before the head's.
  await sql`
    create function ledger.append_batch(
      streams text[], expected bigint[], counts integer[], lock_order integer[],
      append_places integer[], append_offsets integer[], ids uuid[], types text[], datas text[], metadatas text[],
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
          -- The same append stands here if all its events do, under the same places, and none of the append goes on behind them.
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
             recorded_at = greatest(h.recorded_at, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
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

      perform pg_notify('ledger_events', (position_before + accepted_events)::text);
    end
    $function$`.execute(db);
}
