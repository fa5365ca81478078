import { accountProjectors } from '../../projections/account-projectors.js';
import type { Projector } from '../../src/projecting/projector.js';

/** The read models as another release has them: the tables of these have one more index. */
export const withOtherTables = (...names: readonly string[]): readonly Projector[] =>
  accountProjectors.map((projector) =>
    names.length > 0 && !names.includes(projector.name)
      ? projector
      : {
          ...projector,
          tables: projector.tables.map(({ name, columns, primaryKey, indexes }) => ({
            name,
            columns,
            primaryKey,
            indexes: { ...indexes, of_next: { definition: '(tenant)' } },
          })),
        },
  );

/** The read models with another `apply` in that one. */
export const withApply = (changed: Projector, apply: Projector['apply']): readonly Projector[] =>
  accountProjectors.map((projector) =>
    projector === changed ? { ...projector, apply } : projector,
  );
