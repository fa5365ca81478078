import type { Mode } from '../../src/domain/scope.js';
import { TableOf } from '../../src/projecting/table.js';

export type ThemeRow = {
  readonly tenant: string;
  readonly mode: Mode;
  /** Empty: the default. */
  readonly locale: string;
  readonly version: number;
  /** JSON. */
  readonly own_values: string;
};

/** The own values of every locale that has any: at most 4 MiB of a tenant and mode. */
export const themes = new TableOf<ThemeRow>({
  name: 'themes',
  columns: {
    tenant: 'text not null',
    mode: 'text not null',
    locale: 'text not null',
    version: 'bigint not null',
    own_values: 'text not null',
  },
  primaryKey: ['tenant', 'mode', 'locale'],
  indexes: {},
});
