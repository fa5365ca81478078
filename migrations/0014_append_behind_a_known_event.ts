import { sql, type Kysely } from 'kysely';

/**
 * Appends that also say which event the stream has to end in. A revision alone does not tell a stream from one that lost its end and was
 * filled again: a decision on events that are in no log any more would be stored.
 *
 * The event is looked up behind the update of the stream's row, so while its lock is held: nobody appends to the stream in between. Where
 * another one stands there the whole call fails with SQLSTATE LB001 and nothing is stored; a batch is then sent append by append.
 * `ends` are the ids, zero where the stream must not exist or nobody knows; the other arguments and the answers are those of the functions
 * that are called, which stay for processes of the release before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function ledger.append_one_behind(
      stream_end uuid, stream_name text, expected bigint, id uuid, event_type text, event_data text, event_metadata text
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
             recorded_at = greatest(h.recorded_at, floor(date_part('epoch', clock_timestamp()) * 1000)::bigint)
       where h.only_row
      returning h.position, h.recorded_at into strict new_position, recorded;

      insert into ledger.events (position, stream, revision, event_id, type, data, metadata, recorded_at, append_offset)
      values (new_position, stream_name, expected + 1, id, event_type, event_data, event_metadata, recorded, 0);

      perform pg_notify('ledger_events', new_position::text);
      return array[new_position, recorded];
    end
    $function$`.execute(db);

  // What was refused needs no second look: its stream is not where the caller thinks, and the caller reads it again.
  for (const name of ['batch', 'distinct']) {
    await sql`
      create function ${sql.id('ledger', `append_${name}_behind`)}(
        ends uuid[], streams text[], expected bigint[], counts integer[], lock_order integer[],
        append_places integer[], append_offsets integer[], ids uuid[], types text[], datas text[], metadatas text[],
        out position_before bigint, out recorded bigint, out refused bigint[]
      ) language plpgsql as $function$
      declare
        refused_places bigint[];
      begin
        select a.position_before, a.recorded, a.refused into position_before, recorded, refused
          from ${sql.id('ledger', `append_${name}`)}(streams, expected, counts, lock_order, append_places, append_offsets, ids, types, datas, metadatas) a;
        if refused is not null then
          select array_agg(refused[6 * n + 1]) into refused_places from generate_series(0, cardinality(refused) / 6 - 1) as n;
        end if;
        perform
           from unnest(lock_order) as o (place)
          where ends[o.place] <> '00000000-0000-0000-0000-000000000000'
            and (refused_places is null or o.place <> all (refused_places))
            and not exists (
              select from ledger.events e
               where e.stream = streams[o.place] and e.revision = expected[o.place] and e.event_id = ends[o.place]);
        if found then
          raise exception 'a stream ends in another event' using errcode = 'LB001';
        end if;
      end
      $function$`.execute(db);
  }
}
