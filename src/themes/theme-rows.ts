import { sql, type Selectable } from 'kysely';
import type { Pool } from 'pg';
import type { Personal } from '../domain/personal.js';
import { scopeOfMode, type Scope } from '../domain/scope.js';
import {
  CHANGE_BYTES_MIN,
  type ThemeLimits,
  type ThemeValues,
} from '../domain/theme/theme.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import { hasCode } from '../foundation/error-code.js';
import type { LedgerTables } from '../postgres/ledger-tables.js';
import { compiledOnce, fetchRows, run, tables, type Given } from '../postgres/statements.js';
import { inTransaction } from '../postgres/transaction.js';
import { openValues, sealValues, subjectsIn } from '../privacy/sealed-values.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import type { OwnValues } from './resolve-theme.js';

/** Number of kept versions per locale. */
export const VERSIONS_MAX = 1_000;

const TABLE = 'ledger.themes';
const DAY_MS = 24 * 3_600_000;
const UNIQUE_VIOLATION = '23505';

/** A version of own values. */
export interface ThemeVersion {
  readonly meta: Omit<CommandMeta, 'askedAt'>;
  /** Null: the default. */
  readonly locale: string | null;
  /** Per locale, from 1. */
  readonly version: number;
  /** Null: removed. */
  readonly values: ThemeValues | null;
  /** UTF-8 bytes of the values as JSON. */
  readonly bytes: number;
  /** The restored version; null: new values. */
  readonly restores: number | null;
  /** The member of staff; null: the command's caller. */
  readonly by: Personal<string> | null;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Position of its audit event; null: not recorded yet. */
  readonly position: Position | null;
}

interface DailyLimits extends ThemeLimits {
  /** Time until the oldest change of the last day no longer counts. */
  readonly waitMs: number;
}

/** The themes of all tenants, with a row per version of a locale. */
export class ThemeRows {
  constructor(
    private readonly pool: Pool,
    private readonly keys: Pick<SubjectKeys, 'load' | 'loadOrCreate'>,
  ) {}

  /** Own values of these locales, if any. */
  async ownValues(scope: Scope, locales: readonly (string | null)[]): Promise<OwnValues> {
    const names = locales.map((locale) => locale ?? '');
    const found = await fetchRows(this.pool, OWN_VALUES({ ...named(scope), names }));
    return new Map(
      found.flatMap(({ locale, own_values: json }) =>
        json === null ? [] : [[locale || null, JSON.parse(json) as ThemeValues]],
      ),
    );
  }

  /** Versions of the locales (null: default) with own values. */
  async versions(scope: Scope): Promise<ReadonlyMap<string | null, number>> {
    const found = await fetchRows(this.pool, VERSIONS(named(scope)));
    return new Map(found.map(({ locale, version }) => [locale || null, version]));
  }

  async limits(scope: Scope, now: number): Promise<DailyLimits> {
    const since = new Date(now - DAY_MS);
    const found = await fetchRows(
      this.pool,
      tables
        .selectFrom(TABLE)
        .where((eb) => eb.and(named(scope)))
        .where((eb) => eb.or([eb('at', '>', since), eb('is_newest', '=', true)]))
        .select(['locale', 'bytes', 'at', 'is_newest'])
        .select((eb) => eb('own_values', 'is not', null).as('has_values')),
    );
    const ofDay = found.filter(({ at }) => at > since);
    const oldest = Math.min(now, ...ofDay.map(({ at }) => at.getTime()));
    return {
      bytes: new Map(
        found
          .filter((row) => row.is_newest && row.has_values)
          .map(({ locale, bytes }) => [locale || null, bytes]),
      ),
      changedBytes: ofDay.reduce((sum, { bytes }) => sum + Math.max(bytes, CHANGE_BYTES_MIN), 0),
      waitMs: oldest + DAY_MS - now,
    };
  }

  /** The version of this number, or the newest one. */
  async version(
    scope: Scope,
    locale: string | null,
    version?: number,
  ): Promise<ThemeVersion | undefined> {
    const ofLocale = VERSION.where((eb) => eb.and({ ...named(scope), locale: locale ?? '' }));
    const [found] = await this.read(
      version === undefined
        ? ofLocale.where('is_newest', '=', true)
        : // A number from outside may be larger than any of the column.
          ofLocale.where(sql<number>`version::bigint`, '=', version),
    );
    return found;
  }

  /** Newest first. */
  history(scope: Scope, locale: string | null, limit: number): Promise<readonly ThemeVersion[]> {
    return this.read(
      VERSION.where((eb) => eb.and({ ...named(scope), locale: locale ?? '' }))
        .orderBy('version', 'desc')
        .limit(limit),
    );
  }

  /** The version that an earlier attempt of this command made. */
  async byCommand(commandId: string): Promise<ThemeVersion | undefined> {
    return (await this.read(VERSION.where('command_id', '=', commandId)))[0];
  }

  /** Versions without an audit event, oldest first. */
  unrecorded(): Promise<readonly ThemeVersion[]> {
    return this.read(VERSION.where('position', 'is', null).orderBy('at').limit(100));
  }

  /** Stores a version as the newest one; false: another one was stored first. */
  async publish(made: ThemeVersion): Promise<boolean> {
    const { meta, version, values, bytes, restores, by } = made;
    const { scope, ...command } = meta;
    const ofLocale = { ...named(scope), locale: made.locale ?? '' };
    const keys = await this.keys.loadOrCreate(subjectsIn([by, command]));
    const row = {
      ...ofLocale,
      version,
      own_values: values && JSON.stringify(values),
      bytes,
      restores,
      changed_by: by && JSON.stringify(sealValues({ by }, keys)),
      command_id: command.commandId,
      command: JSON.stringify(sealValues(command, keys)),
      at: new Date(made.at),
    };
    try {
      return await inTransaction(this.pool, async (client) => {
        const replaced = await run(
          client,
          tables
            .updateTable(TABLE)
            .set({ is_newest: false })
            .where((eb) => eb.and({ ...ofLocale, version: version - 1, is_newest: true })),
        );
        if (replaced === 0 && version > 1) return false;
        await run(client, tables.insertInto(TABLE).values(row));
        await run(
          client,
          tables
            .deleteFrom(TABLE)
            .where((eb) => eb.and(ofLocale))
            .where('version', '<=', version - VERSIONS_MAX),
        );
        return true;
      });
    } catch (error) {
      if (hasCode(error, UNIQUE_VIOLATION)) return false;
      throw error;
    }
  }

  async recorded({ meta, locale, version }: ThemeVersion, position: Position): Promise<void> {
    await run(
      this.pool,
      tables
        .updateTable(TABLE)
        .set({ position })
        .where((eb) => eb.and({ ...named(meta.scope), locale: locale ?? '', version })),
    );
  }

  private async read(statement: typeof VERSION): Promise<readonly ThemeVersion[]> {
    const rows = await fetchRows(this.pool, statement);
    const keys = await this.keys.load(
      subjectsIn(rows.map(({ changed_by: by, command }) => [by, command])),
    );
    return rows.map((row) => ({
      meta: { scope: scopeOf(row), ...(openValues(row.command, keys) as CommandColumns) },
      locale: row.locale || null,
      version: row.version,
      values: row.own_values === null ? null : (JSON.parse(row.own_values) as ThemeValues),
      bytes: row.bytes,
      restores: row.restores,
      by:
        (openValues(row.changed_by, keys) as { readonly by: Personal<string> } | null)?.by ?? null,
      at: row.at.getTime(),
      position: row.position,
    }));
  }
}

type CommandColumns = Omit<ThemeVersion['meta'], 'scope'>;

const VERSION = tables.selectFrom(TABLE).selectAll();

const scopeOf = ({ tenant, mode }: Selectable<LedgerTables[typeof TABLE]>): Scope => ({
  tenant,
  mode: mode === 'test' ? 'test' : 'live',
});

const named = (scope: Scope): { readonly tenant: string; readonly mode: string } =>
  scopeOfMode(scope);

type ScopeColumns = ReturnType<typeof named>;

const OWN_VALUES = compiledOnce(
  'themes.own_values',
  ({ tenant, mode, names }: Given<ScopeColumns & { readonly names: readonly string[] }>) =>
    sql<{ locale: string; own_values: string | null }>`select locale, own_values from ledger.themes
      where tenant = ${tenant} and mode = ${mode} and locale = any(${names}) and is_newest`,
);

const VERSIONS = compiledOnce(
  'themes.versions',
  ({ tenant, mode }: Given<ScopeColumns>) =>
    sql<{ locale: string; version: number }>`select locale, version from ledger.themes
      where tenant = ${tenant} and mode = ${mode} and is_newest and own_values is not null`,
);
