import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** Read as `BigInt`, see `openPool`. */
type Int8 = ColumnType<bigint, bigint | number, bigint | number>;
type Int8WithDefault = ColumnType<bigint, bigint | number | undefined, bigint | number>;
/** Written as JSON text: pg would write an array as one of Postgres. */
type Json<T> = ColumnType<T, string, string>;
type JsonWithDefault<T> = ColumnType<T, string | undefined, string>;

/** Compared with the migrations by test/postgres/ledger-tables.test.ts. */
export interface LedgerTables {
  'ledger.chain_checkpoints': ChainCheckpoints;
  'ledger.chain_seals': ChainSeals;
  'ledger.clock_acceptances': ClockAcceptances;
  'ledger.followed_log': FollowedLog;
  'ledger.idempotency_keys': IdempotencyKeys;
  'ledger.identity': Identity;
  'ledger.log_copies': LogCopies;
  'ledger.log_losses': LogLosses;
  'ledger.log_seals': LogSeals;
  'ledger.operation_runs': OperationRuns;
  'ledger.operator_sessions': OperatorSessions;
  'ledger.parked_streams': ParkedStreams;
  'ledger.projection_checkpoints': ProjectionCheckpoints;
  'ledger.projection_generations': ProjectionGenerations;
  'ledger.run_file_chunks': RunFileChunks;
  'ledger.run_files': RunFiles;
  'ledger.skipped_events': SkippedEvents;
  'ledger.themes': Themes;
  'ledger.handler_checkpoints': HandlerCheckpoints;
  'ledger.webhook_signing_keys': WebhookSigningKeys;
  'vault.erasures_checked': ErasuresChecked;
  'vault.master_key_processes': MasterKeyProcesses;
  'vault.master_keys': MasterKeys;
  'vault.scrubbed': Scrubbed;
  'vault.service_keys': ServiceKeyRows;
  'vault.subject_keys': SubjectKeys;
}

interface ChainCheckpoints {
  log_id: string;
  position: string | null;
  events: Int8WithDefault;
  version: Int8WithDefault;
  updated_at: Generated<Date>;
}

interface ChainSeals {
  log_id: string;
  chain: string;
  events: Int8;
  position: string;
  digest: Buffer;
  places: Buffer;
  signature: Buffer;
  sealed_at: Generated<Date>;
  event_ids: readonly string[];
  positions: readonly string[];
  marks: Buffer;
}

interface ClockAcceptances {
  log_id: string;
  accepted_at: Generated<Date>;
  accepted_by: string;
  reason: string;
  position: string;
  recorded_at: bigint;
}

interface FollowedLog {
  only_row: Generated<boolean>;
  log_id: string;
  rebuilt: Generated<boolean>;
}

interface IdempotencyKeys {
  tenant: string;
  mode: string;
  key: string;
  fingerprint: string;
  owner: Int8;
  created_at: Generated<Date>;
  answer: Buffer | null;
  command_id: Generated<string>;
  log_position: ColumnType<string | null, bigint | null | undefined, bigint | null>;
}

interface Identity {
  one: Generated<boolean>;
  master_key_check: string;
}

interface LogCopies {
  source_id: string;
  target_id: string;
  source_head: string | null;
  target_head: string | null;
  events: Int8;
  policies_position: string | null;
  copied_at: Generated<Date>;
}

interface LogLosses {
  id: GeneratedAlways<bigint>;
  log_id: string;
  from_position: string | null;
  to_position: string | null;
  noticed_at: Generated<Date>;
  acknowledged_at: ColumnType<Date | null, Date | string | null | undefined, Date | string | null>;
  acknowledged_by: string | null;
  reason: string | null;
  acknowledgement: JsonWithDefault<unknown>;
  signature: string | null;
}

interface LogSeals {
  log_id: string;
  position: string | null;
  event_id: string | null;
  events: Int8;
  digest: string;
  signature: string;
  sealed_at: Generated<Date>;
}

interface Themes {
  tenant: string;
  mode: string;
  locale: string;
  version: number;
  is_newest: Generated<boolean>;
  own_values: string | null;
  bytes: number;
  restores: number | null;
  changed_by: Json<unknown> | null;
  command_id: string;
  command: Json<unknown>;
  at: Date;
  position: string | null;
}

interface OperationRuns {
  id: string;
  operation: string;
  operator: string;
  tenant: string | null;
  mode: string | null;
  owner: number;
  state: string;
  cancel_requested: Generated<boolean>;
  phase: string | null;
  done: Int8WithDefault;
  total: bigint | null;
  started_at: Generated<Date>;
  beat_at: Generated<Date>;
  finished_at: Date | null;
  parameters: Buffer | null;
  result: Buffer | null;
  error: Buffer | null;
  names_people: Generated<boolean>;
  forgotten: Generated<boolean>;
}

interface RunFiles {
  run: string;
  kind: string;
  tenant: string;
  mode: string;
  chunks: number | null;
  bytes: bigint | null;
  stored_at: Generated<Date>;
}

interface RunFileChunks {
  run: string;
  kind: string;
  number: number;
  bytes: Buffer;
}

interface OperatorSessions {
  token_sha256: Buffer;
  operator: string;
  key_sha256: string;
  began: Generated<Date>;
  ends: Date;
}

interface ParkedStreams {
  projection: string;
  generation: number;
  stream: string;
  revision: bigint;
  position: string;
  reason: string;
  parked_at: Generated<Date>;
}

interface ProjectionCheckpoints {
  projection: string;
  generation: number;
  position: string | null;
  version: Int8WithDefault;
  updated_at: Generated<Date>;
  last_error: string | null;
  witness: string | null;
}

interface ProjectionGenerations {
  projection: string;
  generation: number;
  state: 'live' | 'beside' | 'building' | 'ready' | 'retired';
  created_at: Generated<Date>;
  definition: string | null;
  retired_at: Date | null;
  complete: Generated<boolean>;
}

interface SkippedEvents {
  projection: string;
  generation: number;
  stream: string;
  position: string;
}

interface WebhookSigningKeys {
  kid: string;
  public_jwk: Json<{ readonly n: string; readonly e: string }>;
  sealed: Buffer | null;
  created_by: string;
  created_at: Generated<Date>;
  served_until: Date | null;
}

interface ErasuresChecked {
  one: Generated<boolean>;
  log_id: string;
  position: string | null;
}

interface Scrubbed {
  one: Generated<boolean>;
  until: Date;
}

interface SubjectKeys {
  subject: string;
  wrapped: Buffer | null;
  created_at: Generated<Date>;
  destroyed_at: Date | null;
}

interface HandlerCheckpoints {
  name: string;
  position: string | null;
  witness: string | null;
  trail: JsonWithDefault<readonly { readonly reached: string; readonly witness: string }[]>;
  version: Int8WithDefault;
  updated_at: Generated<Date>;
}

interface MasterKeyProcesses {
  process: Int8;
  master_key: string;
}

interface MasterKeys {
  id: string;
  number: GeneratedAlways<number>;
  added_at: Generated<Date>;
  rewrapped_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  retired_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
}

interface ServiceKeyRows {
  purpose: string;
  generation: number;
  master_key: string;
  wrapped: Buffer;
  created_at: Generated<Date>;
}
