import { sql, type Kysely } from 'kysely';

/**
 * append_batch for appends to streams that are all different, which is nearly every batch: streams are moved by two statements
 * instead of one per append, a fifth to a quarter less time for 16 to 32 appends. Arguments and answer are those of append_batch.
 *
 * `lock_order` has the new streams first, then the others, each by name, and rows are locked in that order; the calling session
 * has to switch off hash and merge joins, for only the nested loop takes them as they come. Nobody waits in a circle: who waits for
 * a new stream holds new streams only, and an update neither sees nor waits for a stream whose insert is not committed.
 *
 * Which appends were refused is only looked up when some were: a row that this transaction moved carries its id. So it is to be
 * called once in a transaction.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function ledger.append_distinct(
      streams text[], expected bigint[], counts integer[], lock_order integer[],
      append_places integer[], append_offsets integer[], ids uuid[], types text[], datas text[], metadatas text[],
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
          -- The same append stands here if all its events do, under the same places, and none of the append goes on behind them.
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
             recorded_at = greatest(h.recorded_at, floor(date_part('epoch', clock_timestamp()) * 1000)::bigint)
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
