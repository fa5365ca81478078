import { sql, type Kysely } from 'kysely';

/** Events that a generation leaves out because an operator skipped them. The next one tries them again. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.skipped_events (
      projection text not null,
      generation integer not null,
      stream text not null,
      position text not null,
      primary key (projection, generation, position),
      foreign key (projection, generation) references ledger.projection_generations on delete cascade
    )`.execute(db);
  await sql`
    alter table ledger.projection_history drop constraint projection_history_action_check,
    add check (action in ('rebuild', 'repair', 'swap', 'rollback', 'retry-parked', 'skip'))`.execute(db);
}
