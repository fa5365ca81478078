import { jsonBuildObject } from 'kysely/helpers/postgres';
import type { Scope } from '../../src/domain/scope.js';
import type { ThemeValues } from '../../src/domain/theme/theme.decider.js';
import type { LiveReads } from '../../src/projecting/following/live-reads.js';
import type { ThemeRow } from './table.js';

interface Tables {
  readonly themes: ThemeRow;
}

export class ThemeQueries {
  constructor(private readonly reads: LiveReads<Tables>) {}

  /**
   * The own values of these locales; those without any are left out.
   * @param locales at most three; null: the default.
   */
  async ownValues(
    { tenant, mode }: Scope,
    locales: readonly (string | null)[],
  ): Promise<ReadonlyMap<string | null, ThemeValues>> {
    const [first = '', second = first, third = first] = locales.map((locale) => locale ?? '');
    const found = await this.reads.all({
      name: 'own_values',
      prepared: true,
      values: { tenant, mode, first, second, third },
      build: (rm, given) =>
        rm
          .selectFrom('themes')
          .where('tenant', '=', given.tenant)
          .where('mode', '=', given.mode)
          .where((eb) => eb('locale', 'in', [given.first, given.second, given.third]))
          .select(({ fn }) => fn.toJson('themes').as('json')),
    });
    return new Map(
      found.map(({ locale, own_values: json }) => [
        locale === '' ? null : locale,
        JSON.parse(json) as ThemeValues,
      ]),
    );
  }

  /** The version of the own values, by locale (null: the default) that has any. */
  async versions({ tenant, mode }: Scope): Promise<ReadonlyMap<string | null, number>> {
    const found = await this.reads.all({
      name: 'versions',
      prepared: true,
      values: { tenant, mode },
      build: (rm, given) =>
        rm
          .selectFrom('themes')
          .where('tenant', '=', given.tenant)
          .where('mode', '=', given.mode)
          .select((eb) =>
            jsonBuildObject({ locale: eb.ref('locale'), version: eb.ref('version') }).as('json'),
          ),
    });
    return new Map(found.map(({ locale, version }) => [locale === '' ? null : locale, version]));
  }
}
