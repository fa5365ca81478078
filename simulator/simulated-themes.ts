import type { ThemeValues } from '../src/domain/theme/theme.decider.js';
import type { Scope } from '../src/domain/scope.js';
import type { StoredThemes } from '../src/themes/themes.js';
import type { Line } from './connection.js';
import type { SimulatedReadModels } from './simulated-read-models.js';
import { StoreAway } from './store-away.js';

const away = (): Error => new StoreAway('the simulated database is away');

/** A row of the read model of themes. */
export interface ThemeRow {
  /** Null: the default. */
  readonly locale: string | null;
  readonly version: number;
  readonly values: ThemeValues;
}

/** The rows of a tenant and mode. */
export const themeRows = (models: SimulatedReadModels, { tenant, mode }: Scope): ThemeRow[] =>
  [...models.liveOf('themes').of('themes').values()]
    .filter((row) => row['tenant'] === tenant && row['mode'] === mode)
    .map(({ locale, version, own_values: values }) => ({
      locale: locale === '' ? null : String(locale),
      version: Number(version),
      values: JSON.parse(String(values)) as ThemeValues,
    }));

/** The stored themes as one process reads them. */
export const simulatedThemes = (models: SimulatedReadModels, line: Line): StoredThemes => ({
  ownValues: (scope, locales) =>
    line.read(
      'rows',
      away,
      () =>
        new Map(
          themeRows(models, scope)
            .filter(({ locale }) => locales.includes(locale))
            .map(({ locale, values }) => [locale, values]),
        ),
    ),
});
