import type { LedgerMode } from '../../src/domain/scope.js';
import { TableOf } from '../../src/projecting/table.js';

/** An operation that a member of staff ran. `at` is epoch milliseconds. */
export type ActivityRow = {
  readonly event_id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly at: number;
  readonly operation: string;
  readonly channel: 'console' | 'http' | 'cli';
  /** The keyed id of the name. */
  readonly staff: string;
  /** Null: erased. */
  readonly name: string | null;
  /** As recorded, without personal data. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The operator's text; null: none, or erased. */
  readonly reason: string | null;
  /** Subject of the key that encrypts the reason; null: none was given. */
  readonly about: string | null;
};

export const activity = new TableOf<ActivityRow>({
  name: 'activity',
  columns: {
    event_id: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    at: 'bigint not null',
    operation: 'text not null',
    channel: 'text not null',
    staff: 'text not null',
    name: 'text',
    parameters: 'jsonb not null',
    reason: 'text',
    about: 'text',
  },
  primaryKey: ['event_id'],
  indexes: {
    newest: { definition: '(at desc, event_id)' },
    of_tenant: { definition: '(tenant, at desc, event_id)' },
    by_staff: { definition: '(staff, event_id)' },
    by_about: { definition: '(about, event_id) where about is not null' },
  },
});
