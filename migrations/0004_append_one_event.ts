import { sql, type Kysely } from 'kysely';

/**
 * The short way into the log for one append of one event, which is what comes while nobody else waits: without arrays it takes
 * half of append_batch's time. Gives the position and time of the event, or null when the stream was not at the expected revision
 * (-1: must not exist): nothing happened then, and append_batch says whether it is a repeated append.
 *
 * It takes its locks as append_batch does, the stream first and the head last and until the commit is visible, so the two may run
 * side by side in any number of processes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function ledger.append_one(
      stream_name text, expected bigint, id uuid, event_type text, event_data text, event_metadata text
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
}
