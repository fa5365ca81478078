import type { SubjectId } from '../src/domain/personal.js';
import type { KeyRow, KeyRows } from '../src/privacy/key-rows.js';
import type { Line } from './connection.js';
import { StoreAway } from './store-away.js';

/** The vault as its server holds it; null: destroyed. */
export type SimulatedVault = Map<SubjectId, Buffer | null>;

const away = (): Error => new StoreAway('the simulated vault is away');

/** The rows of these subjects, as far as there are any. */
export const keyRowsIn = (vault: SimulatedVault, subjects: readonly SubjectId[]): KeyRow[] =>
  subjects.flatMap((subject) => {
    const wrapped = vault.get(subject);
    return wrapped === undefined ? [] : [{ subject, wrapped }];
  });

/** The vault as one process reaches it. */
export class SimulatedKeyRows implements KeyRows {
  constructor(
    private readonly vault: SimulatedVault,
    private readonly line: Line,
  ) {}

  find(subjects: readonly SubjectId[]): Promise<readonly KeyRow[]> {
    return this.line.read('keys', away, () => keyRowsIn(this.vault, subjects));
  }

  create(rows: Parameters<KeyRows['create']>[0]): Promise<void> {
    return this.line.write('keys', away, () => {
      for (const { subject, wrapped } of rows)
        if (!this.vault.has(subject)) this.vault.set(subject, wrapped);
    });
  }

  destroy(subjects: readonly SubjectId[]): Promise<void> {
    return this.line.write('keys', away, () => {
      for (const subject of subjects) this.vault.set(subject, null);
    });
  }
}
