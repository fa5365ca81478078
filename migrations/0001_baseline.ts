import { sql, type Kysely } from 'kysely';

/**
 * The schema of the first release, by area. Later changes are migrations of their own, which extend it first
 * and take from it in a later release (docs/adr/0121-a-baseline-and-then-expand-and-contract.md).
 *
 * Read models are not here: each generation of one is a schema of its own, made by the service.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createTrigrams(db);
  const areas = [LOG, APPENDS, VAULT, REQUESTS, READ_MODELS, HANDLERS, CHAIN, WORK, WEBHOOKS, MAILS, PAYMENTS, EXPORTS, OPERATORS];
  for (const area of [...areas, COMMENTS]) await area.execute(db);
}

/**
 * For the index by which users are searched. In the schema of the service, unless the database has the extension already. It is a trusted
 * extension: a role that may create schemas in the database may create it.
 */
async function createTrigrams(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql`select from pg_extension where extname = 'pg_trgm'`.execute(db);
  if (rows.length > 0) return;
  try {
    await sql`create extension pg_trgm with schema ledger`.execute(db);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unknown';
    throw new Error(
      `the database needs the extension pg_trgm, which this role cannot create (${reason}): as a role that may, run "create extension pg_trgm" in this database, then start again`,
      { cause: error },
    );
  }
}

/**
 * The event log: one row with the newest position, a row per stream with its revision, and the events.
 *
 * `data` and `metadata` are text, not jsonb: digests are taken of the stored bytes, and jsonb would return others. Names of streams are
 * compared byte by byte (`collate "C"`): faster, and the index survives an upgrade of the system's collations.
 */
const LOG = sql`
-- Every batch updates the row. The new versions fill the empty rest of its page: each update is heap-only and touches no index, and the next
-- update that finds the page full cleans it instead of a vacuum.
create table ledger.log_head (
  only_row boolean primary key default true check (only_row),
  log_id uuid not null default gen_random_uuid(),
  position bigint not null default 0,
  recorded_at bigint not null default 0
) with (fillfactor = 10, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0);
insert into ledger.log_head default values;

-- Each append to a stream updates its row. No index holds the revision, so that room in the page keeps updates heap-only.
create table ledger.streams (
  stream text collate "C" primary key,
  revision bigint not null
) with (fillfactor = 70);

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
);

-- The log of this database: read models, policies and kept answers refer to its positions, which mean nothing in another log.
create table ledger.followed_log (
  only_row boolean primary key default true check (only_row),
  log_id uuid not null,
  rebuilt boolean not null default true
);

create table ledger.log_copies (
  source_id uuid not null,
  target_id uuid not null,
  source_head text,
  target_head text,
  events bigint not null,
  policies_position text,
  copied_at timestamptz not null default now(),
  primary key (source_id, target_id)
);

create table ledger.log_losses (
  id bigint generated always as identity primary key,
  log_id text not null,
  from_position text,
  to_position text,
  noticed_at timestamptz not null default now(),
  acknowledged_at timestamptz,
  acknowledged_by text,
  reason text,
  acknowledgement jsonb,
  signature text
);
create unique index log_losses_open on ledger.log_losses (log_id) where acknowledged_at is null;

create table ledger.clock_acceptances (
  log_id text not null,
  accepted_at timestamptz not null default now(),
  accepted_by text not null,
  reason text not null,
  position text not null,
  recorded_at bigint not null,
  primary key (log_id, position)
);
`;

/** The end of both append functions: the accepted events get their positions, and followers hear of them. */
const RECORD_ACCEPTED = sql`  update ledger.log_head h
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
`;

/**
 * Appends. One call is one transaction is one round trip.
 *
 * `append_batch` takes appends in the order of arrival: `streams`, the revision that each must have (-1: it must not exist), how many events
 * each brings; `lock_order`: their places (from 1) by the name of the stream, those of one stream in the order of arrival. Events in the
 * order of arrival: the place of their append and their place within it (`append_offsets`, from 0), then what is stored. `clock`: epoch
 * milliseconds of the process. `newest_max`: the latest time that the newest entry of the log may have; a later one ends the call with
 * SQLSTATE LB002, and nothing is stored. Null: an operator has accepted the log, and the entries carry `clock`. `ends`: the id of the event
 * that each stream has to end in, zero where it must not exist or is not known; null: none is known. A stream that ends in another event
 * ends the call with SQLSTATE LB001, and nothing is stored: a revision alone does not distinguish a stream from one that lost its end and was
 * filled again.
 *
 * The n-th accepted event has position `position_before` + n and time `recorded`; both are null when nothing was accepted. `refused` (null
 * for none) holds six numbers for each append that was not accepted: its place; 1 if it is a repeated one, 0 if it conflicts; the stream's
 * revision, -1 without a stream; and for a repeated one the revision, position and time of its last event.
 *
 * Why this holds under READ COMMITTED with any number of processes:
 * - The process that moves a stream locks its row until the end of the transaction. Another process's update waits, then reads the row again
 *   and finds another revision; another process's insert waits, then does nothing. The next statement has a new snapshot and sees the
 *   events that it waited for: a repeated append is recognised even while the first one runs.
 * - Rows are locked in the order of the names and the head last, in every process: no circle of waits is possible.
 * - The head is held until the commit is visible. So positions have no gaps (an abort returns its positions) and become visible in their
 *   order: a reader of one position sees all before it.
 * - The time is taken while the head is held.
 *
 * `append_distinct` is for appends to streams that are all different, which is nearly every batch: two statements move the streams instead
 * of one per append, a fifth to a quarter less time for 16 to 32 appends. `lock_order` has the new streams first, then the others, each
 * by name, and rows are locked in that order; the calling session has to switch hash and merge joins off, for only the nested loop keeps
 * the order. No circle of waits is possible: a process that waits for a new stream holds new streams only, and an update neither sees nor
 * waits for a stream whose insert is not committed. Which appends were refused is looked up only when some were: a row that this
 * transaction moved carries its id. So a transaction calls it once.
 *
 * `append_one` is for one append of one event, the usual one without load: without arrays it takes half of the time. It returns position and
 * time, or null when the stream was not at the expected revision: nothing happened then, and `append_batch` says whether the append is a
 * repeated one. It takes its locks in the same order.
 */
const APPENDS = sql`
create function ledger.recording_time(newest bigint, clock bigint, newest_max bigint) returns bigint
language plpgsql as $function$
begin
  if newest > newest_max then
    raise exception 'the newest entry of the log is ahead of the clock' using errcode = 'LB002';
  end if;
  return case when newest_max is null then clock else greatest(newest, clock) end;
end
$function$;

create function ledger.append_one(
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
$function$;

create function ledger.append_batch(
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
      -- An append is a repeated one if the stream has all its events, in the same places, and no further event of it.
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

${RECORD_ACCEPTED}end
$function$;

create function ledger.append_distinct(
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
      -- An append is a repeated one if the stream has all its events, in the same places, and no further event of it.
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

${RECORD_ACCEPTED}end
$function$;
`;

/** Keys of people and of the service, in a schema of their own, which is backed up apart from the log. */
const VAULT = sql`
create schema if not exists vault;
create table vault.subject_keys (
  subject uuid primary key,
  wrapped bytea,
  created_at timestamptz not null default now(),
  destroyed_at timestamptz
);
create index subject_keys_destroyed on vault.subject_keys (destroyed_at) where destroyed_at is not null;

-- Of which log, and up to where its erasures were carried out on these keys; null: from its beginning. A restored copy of the keys has its
-- own mark, and what came later is carried out again.
create table vault.erasures_checked (
  one boolean primary key default true check (one),
  log_id text not null,
  position text
);

-- Everything that was erased before has left the files.
create table vault.scrubbed (
  one boolean primary key default true check (one),
  until timestamptz not null
);

-- Derived from the key. The highest number is in use.
create table vault.master_keys (
  id text collate "C" primary key,
  number integer generated always as identity,
  added_at timestamptz not null default now(),
  rewrapped_at timestamptz,
  retired_at timestamptz
);

-- The service's own keys, one generation after the other for each purpose, each encrypted with every master key in use. Sealed bytes name
-- the generation; new ones are sealed with the highest.
create table vault.service_keys (
  purpose text collate "C" not null,
  generation integer not null,
  master_key text collate "C" not null references vault.master_keys,
  wrapped bytea not null,
  created_at timestamptz not null default now(),
  primary key (purpose, generation, master_key)
);

-- By the number of the advisory lock that the process holds while it lives.
create table vault.master_key_processes (
  process bigint primary key,
  master_key text collate "C" not null references vault.master_keys
);

-- Recognises a wrong master key before anything is written with it.
create table ledger.identity (
  one boolean primary key default true check (one),
  master_key_check text not null
);
`;

/** Requests with an idempotency key, and counts of calls. */
const REQUESTS = sql`
-- key, fingerprint: keyed hashes. owner: the number of the advisory lock of the process that runs the request. answer: encrypted; null while
-- it runs.
create table ledger.idempotency_keys (
  tenant text not null,
  mode text not null,
  key text not null,
  fingerprint text not null,
  owner bigint not null,
  created_at timestamptz not null default now(),
  answer bytea,
  command_id uuid not null default gen_random_uuid(),
  log_position numeric(20),
  primary key (tenant, mode, key)
) with (fillfactor = 80);
create index idempotency_keys_by_age on ledger.idempotency_keys (created_at);

-- How often a client, by a keyed hash of its address, called in the present window: for all processes together. Unlogged: a count is worth
-- less than keeping it through a crash of the server costs, and addresses stay out of backups.
create unlogged table ledger.call_counts (
  tenant text not null,
  call text not null,
  client text not null,
  began timestamptz not null,
  calls integer not null,
  primary key (tenant, call, client)
) with (fillfactor = 50);
create index call_counts_by_age on ledger.call_counts (began);
`;

/** Generations of read models: which are followed, how far they are, and what holds a stream back. */
const READ_MODELS = sql`
-- live: of the confirmed release; beside: of another one. Releases with the same tables share a generation.
create table ledger.projection_generations (
  projection text not null,
  generation integer not null check (generation > 0),
  state text not null check (state in ('live', 'beside', 'building', 'ready', 'retired')),
  created_at timestamptz not null default now(),
  definition text,
  retired_at timestamptz,
  complete boolean not null default true,
  primary key (projection, generation)
);
create unique index projection_generations_one_live on ledger.projection_generations (projection) where state = 'live';
create unique index projection_generations_one_of_tables on ledger.projection_generations (projection, definition)
  where state in ('live', 'beside');

-- Updated once per batch. The free half of each page keeps these updates heap-only.
create table ledger.projection_checkpoints (
  projection text not null,
  generation integer not null,
  position text,
  version bigint not null default 0,
  updated_at timestamptz not null default now(),
  last_error text,
  witness text,
  primary key (projection, generation),
  foreign key (projection, generation) references ledger.projection_generations on delete cascade
) with (fillfactor = 50);

create table ledger.parked_streams (
  projection text not null,
  generation integer not null,
  stream text not null,
  revision bigint not null,
  position text not null,
  reason text not null,
  parked_at timestamptz not null default now(),
  primary key (projection, generation, stream),
  foreign key (projection, generation) references ledger.projection_generations on delete cascade
);

create table ledger.skipped_events (
  projection text not null,
  generation integer not null,
  stream text not null,
  position text not null,
  primary key (projection, generation, position),
  foreign key (projection, generation) references ledger.projection_generations on delete cascade
);

-- People are cleaned out of a read model in pieces. Until the last piece, a row names them for queries, which must not show them, and holds
-- where the next piece begins.
create table ledger.projection_erasures (
  projection text not null,
  generation integer not null,
  account_ref text not null,
  erasure_id text not null,
  tenant text not null,
  mode text not null,
  persons text[] not null,
  next_piece jsonb not null,
  begun_at timestamptz not null default now(),
  primary key (projection, generation, account_ref, erasure_id),
  foreign key (projection, generation) references ledger.projection_generations on delete cascade
);

-- generation: the one that was built, repaired or made live; null: the operation ended before. previous: the one that was live before a
-- switch. tenant, mode, account_ref: of a repair.
create table ledger.projection_history (
  id bigint generated always as identity primary key,
  action text not null check (action in ('rebuild', 'repair', 'swap', 'rollback', 'retry-parked', 'skip')),
  projection text not null,
  generation integer,
  previous integer,
  tenant text,
  mode text,
  account_ref text,
  actor text not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  outcome text not null default 'running' check (outcome in ('running', 'done', 'failed', 'cancelled', 'crashed')),
  details jsonb not null default '{}'
);
`;

/** Policies and webhooks: how far they are, and what waits. */
const HANDLERS = sql`
-- position: null before the first event. version grows with every write: an earlier leader writes nothing more.
create table ledger.handler_checkpoints (
  name text collate "C" primary key,
  position text,
  witness text,
  trail jsonb not null default '[]',
  version bigint not null default 0,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);

-- event_type, schema_version: of an event that the release cannot read. passed_over grows when policies pass over later events of the
-- stream: a retry knows by it whether it has reached the end.
create table ledger.parked_reactions (
  id bigint generated always as identity,
  event_id uuid not null,
  policy text not null,
  stream text not null,
  revision bigint not null,
  position text not null,
  reason text not null,
  parked_at timestamptz not null default now(),
  event_type text,
  schema_version integer,
  tries integer not null default 0,
  next_try_at timestamptz not null default now(),
  passed_over bigint not null default 0,
  primary key (event_id, policy)
);
create unique index parked_reactions_by_id on ledger.parked_reactions (id);
create index parked_reactions_by_stream on ledger.parked_reactions (stream);
create index parked_reactions_by_next_try on ledger.parked_reactions (next_try_at);

-- Reactions that a retry carried out are in no other row: when the log loses their effects, they are parked again.
create table ledger.retried_reactions (
  event_id uuid not null,
  policy text collate "C" not null,
  stream text collate "C" not null,
  revision bigint not null,
  position text not null,
  retried_at timestamptz not null default now(),
  primary key (event_id, policy)
);
create index retried_reactions_by_time on ledger.retried_reactions (retried_at);
`;

/** Signed seals of the chains. They are not in the log, so that a log in another store is sealed as well. */
const CHAIN = sql`
-- events: of the chain, from its first one to the last one under this seal.
create table ledger.chain_seals (
  log_id text collate "C" not null,
  chain text collate "C" not null,
  events bigint not null check (events > 0),
  position text not null,
  digest bytea not null,
  places bytea not null,
  signature bytea not null,
  sealed_at timestamptz not null default now(),
  event_ids uuid[] not null,
  positions text[] not null,
  marks bytea not null,
  primary key (log_id, chain, events)
);

-- position: of the last event of the log that the sealer has seen; null: none yet.
create table ledger.chain_checkpoints (
  log_id text collate "C" primary key,
  position text,
  events bigint not null default 0,
  version bigint not null default 0,
  updated_at timestamptz not null default now()
);

-- Which events the whole log held when it was sealed last, and where: without it, the newest events of a chain could be removed together with
-- their seals. One row for each log: an older row would vouch for a log that was cut off there.
create table ledger.log_seals (
  log_id text collate "C" primary key,
  position text,
  event_id uuid,
  events bigint not null,
  digest text not null,
  signature text not null,
  sealed_at timestamptz not null default now()
);
`;

/** The queue of background work of every kind. */
const WORK = sql`
create table ledger.work_items (
  kind text not null,
  id text not null,
  tenant text not null,
  lane text not null default '',
  due_at timestamptz not null,
  waiting_since timestamptz not null,
  attempts integer not null default 0,
  payload jsonb not null default '{}',
  woken bigint not null default 0,
  reason text,
  claimed_by integer,
  claimed_at timestamptz,
  claimed_until timestamptz,
  given_up_at timestamptz,
  primary key (kind, id)
);
create index work_items_open on ledger.work_items (kind, tenant, lane, due_at) where claimed_by is null and given_up_at is null;
create index work_items_due on ledger.work_items (kind, due_at) where claimed_by is null and given_up_at is null;
create index work_items_claimed on ledger.work_items (kind, tenant, lane) where claimed_by is not null;
create index work_items_given_up on ledger.work_items (kind, given_up_at) where given_up_at is not null;
`;

/** Endpoints as the handler of webhooks has seen them, and their deliveries. A delivery names its event; its payload is made from the log. */
const WEBHOOKS = sql`
-- At most one key is current (served_until is null). The others are served until receivers no longer need them, and have no private key.
create table ledger.webhook_signing_keys (
  kid text collate "C" primary key,
  public_jwk jsonb not null,
  sealed bytea,
  created_by text not null,
  created_at timestamptz not null default now(),
  served_until timestamptz,
  check ((sealed is null) = (served_until is not null))
);
create unique index webhook_signing_keys_current on ledger.webhook_signing_keys ((true)) where served_until is null;

-- UNKNOWN: the log lost the events about it. pause_until: no attempt before.
create table ledger.webhook_endpoints (
  tenant text collate "C" not null,
  mode text collate "C" not null,
  endpoint_id text collate "C" not null,
  state text not null check (state in ('ACTIVE', 'DISABLED', 'UNSUBSCRIBED', 'UNKNOWN')),
  changed_position text,
  changed_at timestamptz not null default now(),
  failures integer not null default 0,
  pause_until timestamptz,
  last_success timestamptz,
  subscribed_at timestamptz,
  failing_since timestamptz,
  held_until timestamptz,
  primary key (tenant, mode, endpoint_id)
);

-- webhook_id: the same for all endpoints and attempts. stream, revision, event_id: null of a test, which is about no event.
create table ledger.webhook_deliveries (
  id uuid primary key,
  tenant text collate "C" not null,
  mode text collate "C" not null,
  endpoint_id text collate "C" not null,
  webhook_id uuid not null,
  type text collate "C" not null,
  subject jsonb not null,
  stream text collate "C",
  revision bigint,
  event_id uuid,
  created timestamptz not null,
  state text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'DEAD')),
  attempts integer not null default 0,
  attempts_before integer not null default 0,
  retried_from timestamptz,
  ended_at timestamptz
);
create index webhook_deliveries_waiting on ledger.webhook_deliveries (tenant, mode, endpoint_id, created) where state = 'PENDING';
create index webhook_deliveries_oldest on ledger.webhook_deliveries (created) where state = 'PENDING';
create index webhook_deliveries_dead on ledger.webhook_deliveries (tenant, mode) where state = 'DEAD';
create index webhook_deliveries_newest on ledger.webhook_deliveries (tenant, mode, created desc, id);
create index webhook_deliveries_ended on ledger.webhook_deliveries (ended_at) where ended_at is not null;

-- status: of the answer; null: there was none, and reason says why. beginning: of the answer, encrypted.
create table ledger.webhook_attempts (
  delivery_id uuid not null references ledger.webhook_deliveries (id) on delete cascade,
  number integer not null,
  at timestamptz not null,
  status integer,
  reason text,
  ms integer not null,
  beginning bytea,
  people text[] not null,
  primary key (delivery_id, number)
);
`;

/** Mails by ids of the ledger: address and content are made from the log. Themes: the texts of a tenant. */
const MAILS = sql`
create table ledger.mail_deliveries (
  id uuid primary key,
  tenant text not null,
  mode text not null,
  type text not null,
  account text not null,
  person uuid not null,
  about text,
  stream text not null,
  revision bigint not null,
  event_id uuid not null,
  created timestamptz not null,
  state text not null default 'PENDING',
  attempts integer not null default 0,
  retried_until timestamptz,
  reason text,
  ended_at timestamptz
);
create index mail_deliveries_listed on ledger.mail_deliveries (tenant, mode, created desc, id);
create index mail_deliveries_sending on ledger.mail_deliveries (id) where state = 'SENDING';
create index mail_deliveries_retried on ledger.mail_deliveries (retried_until) where retried_until is not null and ended_at is null;
create index mail_deliveries_ended on ledger.mail_deliveries (ended_at) where ended_at is not null;

create table ledger.unsubscribed_addresses (
  tenant text not null,
  mode text not null,
  address text not null,
  at timestamptz not null default now(),
  primary key (tenant, mode, address)
);

-- The own values of a tenant's locales, a row for each version. locale: empty for the default. own_values: JSON as it was written; null: the
-- values were removed. changed_by: the encrypted name of an operator; null: the caller of the command. position: of the audit event; null: it
-- is not recorded yet.
create table ledger.themes (
  tenant text not null,
  mode text not null,
  locale text not null,
  version integer not null,
  is_newest boolean not null default true,
  own_values text,
  bytes integer not null,
  restores integer,
  changed_by jsonb,
  command_id uuid not null unique,
  command jsonb not null,
  at timestamptz not null,
  position text,
  primary key (tenant, mode, locale, version)
);
create unique index themes_newest on ledger.themes (tenant, mode, locale) where is_newest;
create index themes_unrecorded on ledger.themes (at) where position is null;
`;

/** What is known of payment providers outside the log: when they sent or were read last, and which events wait for an account. */
const PAYMENTS = sql`
create table ledger.payment_tenants (
  tenant text not null,
  mode text not null,
  last_event_at timestamptz,
  last_sync_at timestamptz,
  primary key (tenant, mode)
);

create table ledger.payment_waiting_events (
  event_ref text primary key,
  stream text not null,
  tenant text not null,
  mode text not null,
  subject uuid not null,
  at timestamptz not null,
  is_linked boolean not null default false
);
create index payment_waiting_events_counted on ledger.payment_waiting_events (tenant, mode, at) where not is_linked;
create index payment_waiting_events_at on ledger.payment_waiting_events (at);
create index payment_waiting_events_subject on ledger.payment_waiting_events (subject, at);
create index payment_waiting_events_stream on ledger.payment_waiting_events (stream);
`;

/** Files of exports. An attempt is one writing of a file: it names the chunks, and their key in the vault. */
const EXPORTS = sql`
-- WRITTEN: the file is whole, and its completion may not be recorded. GONE: key and chunks are to be removed. stored_bytes: compressed and
-- encrypted. file: as the completion has it. erased: people who were forgotten while it was written.
create table ledger.export_files (
  export_id uuid primary key,
  tenant text collate "C" not null,
  mode text collate "C" not null,
  state text not null default 'WAITING' check (state in ('WAITING', 'RUNNING', 'WRITTEN', 'STORED', 'GONE')),
  attempt uuid unique,
  rows_done bigint,
  rows_total bigint,
  stored_bytes bigint not null default 0,
  file jsonb,
  expires_at timestamptz,
  erased uuid[] not null default '{}',
  created_at timestamptz not null default now(),
  check (state not in ('RUNNING', 'WRITTEN', 'STORED') or attempt is not null)
);
create unique index export_files_running on ledger.export_files (tenant, mode) where state in ('RUNNING', 'WRITTEN');
create index export_files_of_tenant on ledger.export_files (tenant, mode, state);
create index export_files_expiring on ledger.export_files (expires_at) where state = 'STORED';

-- file: its bytes. people: sorted digests of the people in it, 8 bytes each; first: the first digest of the chunk.
create table ledger.export_chunks (
  attempt uuid not null references ledger.export_files (attempt) on delete cascade,
  kind text not null check (kind in ('file', 'people')),
  number integer not null,
  first bytea,
  bytes bytea not null,
  primary key (attempt, kind, number)
);
-- Encrypted bytes do not compress, and people are read in pieces.
alter table ledger.export_chunks alter column bytes set storage external;
create index export_chunks_people on ledger.export_chunks (attempt, first) where kind = 'people';

-- A row at the start of a download, one an hour for each caller.
create table ledger.export_downloads (
  tenant text not null,
  mode text not null,
  export_id uuid not null,
  actor_kind text not null,
  actor_id text not null,
  hour timestamptz not null default date_trunc('hour', now()),
  at timestamptz not null default now(),
  request_id text not null,
  primary key (tenant, mode, export_id, actor_kind, actor_id, hour)
);
`;

/** Long operations, and operators who are signed in to the console. */
const OPERATORS = sql`
create table ledger.operation_runs (
  id uuid primary key,
  operation text not null,
  operator text not null,
  tenant text,
  mode text,
  owner integer not null,
  state text not null check (state in ('running', 'done', 'failed', 'cancelled', 'abandoned')),
  cancel_requested boolean not null default false,
  phase text,
  done bigint not null default 0,
  total bigint,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now(),
  finished_at timestamptz,
  parameters bytea,
  result bytea,
  error bytea,
  names_people boolean not null default true,
  forgotten boolean not null default false
);
create index operation_runs_listed on ledger.operation_runs (operator, started_at desc);
create index operation_runs_running on ledger.operation_runs (owner) where state = 'running';
create index operation_runs_of_tenant on ledger.operation_runs (tenant, mode, started_at desc) where tenant is not null;

create table ledger.run_files (
  run uuid not null,
  kind text not null check (kind in ('upload', 'rejected', 'ids')),
  tenant text not null,
  mode text not null,
  chunks integer,
  bytes bigint,
  stored_at timestamptz not null default now(),
  primary key (run, kind)
);
create index run_files_of_tenant on ledger.run_files (tenant, mode);

create table ledger.run_file_chunks (
  run uuid not null,
  kind text not null,
  number integer not null,
  bytes bytea not null,
  primary key (run, kind, number),
  foreign key (run, kind) references ledger.run_files (run, kind) on delete cascade
);
-- Encrypted bytes do not compress.
alter table ledger.run_file_chunks alter column bytes set storage external;

create table ledger.operator_sessions (
  token_sha256 bytea primary key,
  operator text not null,
  key_sha256 text not null,
  began timestamptz not null default now(),
  ends timestamptz not null
);
create index operator_sessions_listed on ledger.operator_sessions (operator, began);
`;

/** Shown by Postgres's tools, and in docs/generated/schema.txt. */
const COMMENTS = sql`
comment on column ledger.log_head.recorded_at is 'Epoch milliseconds of the newest event';
comment on column ledger.events.recorded_at is 'Epoch milliseconds of the clock of the process. Positions order the log, times never';
comment on column ledger.events.append_offset is
  'Place within its append, from 0: distinguishes a repeated append from a part of it, or from two of them together';
comment on column ledger.followed_log.rebuilt is 'False from the change to another log until the read models have been built from it';
comment on table ledger.log_copies is 'Complete copies; a row is deleted as soon as its source may grow';
comment on column ledger.log_copies.policies_position is
  'Position in the target of the event that policies had reached in the source; null: they had not begun';
comment on table ledger.log_losses is 'When the log was found to have lost its end, and the operator who acknowledged it';
comment on table ledger.clock_acceptances is 'The newest entries that were ahead of the clock when an operator accepted the log';
comment on column vault.subject_keys.wrapped is 'Encrypted with a key of the service; null: destroyed, the person is forgotten';
comment on column vault.master_keys.rewrapped_at is 'From then on no key of a person is encrypted with an earlier master key';
comment on column vault.master_keys.retired_at is 'From then on it opens nothing here';
comment on column ledger.idempotency_keys.command_id is 'Kept over every retry';
comment on column ledger.idempotency_keys.log_position is 'How far the log was when the answer was kept, as a number; null: not known';
comment on column ledger.projection_generations.definition is 'Digest of the declared tables; null: the log lost what it was built from';
comment on column ledger.projection_generations.retired_at is 'When it was last live; null: never';
comment on column ledger.projection_generations.complete is 'False: it has not caught up for the first time, and is not shown';
comment on column ledger.projection_checkpoints.version is
  'Grows with every change of this generation''s rows, batches and repairs alike; a writer that did not expect it has lost the race';
comment on column ledger.projection_checkpoints.witness is 'The position and the id of the event there';
comment on column ledger.parked_streams.revision is 'Of the event that cannot be applied; the events after it wait in the log';
comment on table ledger.skipped_events is
  'Events that a generation leaves out because an operator skipped them; the next generation tries them again';
comment on table ledger.projection_erasures is 'Erasures whose people are not cleaned out of all rows of a generation yet';
comment on table ledger.projection_history is 'What operators did to read models: positions, counts and names of the service only';
comment on column ledger.handler_checkpoints.witness is
  'The newest event that the leader had seen, and with it all that the reactions had appended: its position and its id';
comment on column ledger.handler_checkpoints.trail is 'Earlier checkpoints, oldest first: the position, and the witness of then';
comment on column ledger.parked_reactions.policy is
  'Its reactions to this stream wait from this event on; an asterisk: those of all policies, since the event cannot be read';
comment on column ledger.chain_seals.chain is 'The mode, and the keyed hash in the name of the tenant''s stream';
comment on column ledger.chain_seals.marks is
  'The first 8 bytes of the places digest after each event since the seal before, to name the event that broke';
comment on table ledger.work_items is 'What is to be done: ids of the ledger, never a value of a person';
comment on column ledger.work_items.lane is 'Items of a tenant that share a bound, such as those of an endpoint';
comment on column ledger.work_items.waiting_since is 'When it was first due';
comment on column ledger.work_items.attempts is 'Claims, without those after which it was postponed';
comment on column ledger.work_items.woken is 'Counts additions: an item that is added while a process works on it is due after that';
comment on column ledger.webhook_endpoints.subscribed_at is 'Time of the event that began the present subscription; null: not known';
comment on column ledger.webhook_endpoints.failing_since is 'First failure since the last success; null: none';
comment on column ledger.webhook_endpoints.held_until is
  'Until then nothing was sent for a cause outside the endpoint (a suspended tenant): that time counts for no delivery';
comment on column ledger.webhook_deliveries.retried_from is
  'The first attempt of the present series, or the resend that began it; null: none yet';
comment on column ledger.webhook_deliveries.attempts_before is 'Attempts before the last resend';
comment on column ledger.webhook_attempts.people is 'The people that the delivery named: their keys encrypt the answer';
comment on column ledger.mail_deliveries.account is 'Of the recipient: its keyed hash';
comment on column ledger.mail_deliveries.about is 'The reward that it is about';
comment on column ledger.mail_deliveries.state is
  'PENDING, SENDING (from before the first byte to the server until its answer is recorded), DELIVERED, DEAD or UNKNOWN';
comment on column ledger.mail_deliveries.retried_until is 'When a failure is the last one; null: no attempt has failed';
comment on column ledger.unsubscribed_addresses.address is 'Its keyed digest';
comment on table ledger.payment_waiting_events is 'Events of customers that no account had: their keys end 30 days later';
comment on column ledger.payment_waiting_events.event_ref is 'Keyed hash of the id at the provider';
comment on column ledger.payment_waiting_events.subject is 'The key that encrypts the ids';
comment on column ledger.payment_waiting_events.is_linked is 'An account has got the customer';
comment on column ledger.operation_runs.owner is 'The process that runs it, by its lock of presence';
comment on column ledger.operation_runs.state is 'abandoned: its process has ended before it';
comment on table ledger.run_files is 'Files that runs read and write; removed after a day, and by an erasure in their tenant and mode';
comment on column ledger.run_files.chunks is 'Null: the file is not whole yet';
comment on column ledger.operation_runs.beat_at is 'When its process reported last';
comment on column ledger.operation_runs.parameters is 'Sealed, like result and error; null: none, or gone';
comment on column ledger.operation_runs.names_people is 'Whether result or error may name people';
comment on column ledger.operation_runs.forgotten is 'People of its tenant were forgotten since it began: texts that may name them are removed';
comment on column ledger.operator_sessions.key_sha256 is 'Of the key that signed in: the session ends with it';
`;
