import type { ThemeEvent } from '../../src/domain/theme/theme.decider.js';
import { defineProjector } from '../../src/projecting/define-projector.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import { themes } from './table.js';

const keyOf = ({ tenant, mode, event }: LedgerEvent<ThemeEvent>) =>
  [tenant, mode, event.locale ?? ''] as const;

const ownRow = (event: LedgerEvent<ThemeEvent>) => [themes.key(...keyOf(event))];

/** The themes of tenants as they are published now. */
export const themesProjector = defineProjector({
  name: 'themes',
  tables: [themes],
  on: {
    ThemePublished: {
      keys: ownRow,
      apply({ event, tenant, mode }, rows) {
        themes.put(rows, {
          tenant,
          mode,
          locale: event.locale ?? '',
          version: event.version,
          own_values: JSON.stringify(event.values),
        });
      },
    },
    ThemeRemoved: {
      keys: ownRow,
      apply(event, rows) {
        themes.delete(rows, ...keyOf(event));
      },
    },
  },
});
