import { ThemeCommandEnvelope, type Commands } from '../command-handling/commands.js';
import type { Personal } from '../domain/personal.js';
import { refused, type Refused } from '../domain/refusal.js';
import {
  refusalOfChange,
  THEME_BYTES_MAX,
  type ThemeEvent,
  type ThemeValues,
} from '../domain/theme/theme.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import { digestOf } from '../foundation/canonical-json.js';
import { timeNow } from '../foundation/world.js';
import { BUILT_IN_THEME } from './built-in-theme.js';
import { isMembers, mergePatch } from './merge-members.js';
import type { ThemeRows, ThemeVersion } from './theme-rows.js';

interface ThemeEdit {
  /** Null: the default. */
  readonly locale: string | null;
  readonly restores?: number;
  /** The newest version that the author saw; refused if it has changed. */
  readonly expected?: number | undefined;
  /** The new values (null: none), from the current or restored ones. May be called repeatedly. */
  readonly apply: (values: ThemeValues | null) => Promise<EditedTheme | Refused>;
  /** The member of staff; default: the command's caller. */
  readonly by?: Personal<string>;
}

interface EditedTheme {
  readonly values: ThemeValues | null;
  /** UTF-8 bytes of the values as JSON. */
  readonly bytes: number;
}

export type ThemeOutcome =
  | {
      /** The newest version; 0: none. */
      readonly version: number;
      /** Own values before the change; null: none. */
      readonly before: ThemeValues | null;
      /** False: the values are the same as before. */
      readonly changed: boolean;
      readonly position: Position | null;
      readonly replayed: boolean;
    }
  | (Refused & {
      /** Milliseconds until the daily limit allows a change. */
      readonly waitMs?: number;
    });

/**
 * Changes themes: stores a row, then its audit event. Refusals: `THEME_TOO_LARGE`; `THEME_INVALID`
 * with a line per fault; `THEME_NOT_FOUND`, `THEME_VERSION_NOT_FOUND`; `CHANGED_MEANWHILE`;
 * `THEME_CHANGED_TOO_MUCH` with the time to wait.
 */
export class ThemeChanges {
  constructor(
    private readonly commands: Pick<Commands, 'execute'>,
    private readonly rows: ThemeRows,
  ) {}

  /** Replaces the own values of a locale (null: the default). */
  put(
    meta: CommandMeta,
    locale: string | null,
    values: unknown,
    edit: Pick<ThemeEdit, 'by' | 'expected'> = {},
  ): Promise<ThemeOutcome> {
    return this.change(meta, { locale, ...edit, apply: () => checked(values, true) });
  }

  /** Why the values are invalid; undefined: they are valid. */
  async refusalOf(values: unknown): Promise<Refused | undefined> {
    const edited = await checked(values, true);
    return 'refused' in edited ? edited : undefined;
  }

  /** Applies a JSON merge patch to own values; a default without any starts from the built-in. */
  patch(meta: CommandMeta, locale: string | null, patch: unknown): Promise<ThemeOutcome> {
    return this.change(meta, {
      locale,
      apply: (values) => {
        const base = values ?? (locale === null ? { ...BUILT_IN_THEME } : {});
        return checked(isMembers(patch) ? mergePatch(base, patch) : patch, false);
      },
    });
  }

  remove(meta: CommandMeta, locale: string): Promise<ThemeOutcome> {
    return this.change(meta, { locale, apply: () => NONE });
  }

  /** Publishes the values of a version again, as a new version. */
  restore(
    meta: CommandMeta,
    edit: Required<Pick<ThemeEdit, 'locale' | 'restores' | 'by'>>,
  ): Promise<ThemeOutcome> {
    const apply = (values: ThemeValues | null) => (values === null ? NONE : checked(values, false));
    return this.change(meta, { ...edit, apply });
  }

  /** Records audit events that are missing after a crash or an outage of the log. */
  async recordMissing(): Promise<void> {
    for (const made of await this.rows.unrecorded()) await this.record(made);
  }

  /** Repeats the decision when another change was stored first. */
  private async change(meta: CommandMeta, edit: ThemeEdit): Promise<ThemeOutcome> {
    for (;;) {
      const earlier = await this.rows.byCommand(meta.commandId);
      if (earlier) return this.outcomeOf(earlier, true);
      const newest = await this.rows.version(meta.scope, edit.locale);
      const made = await this.versionFor(meta, edit, newest);
      if (made === undefined)
        return {
          version: newest?.version ?? 0,
          before: newest?.values ?? null,
          changed: false,
          position: newest?.position ?? null,
          replayed: false,
        };
      if ('refused' in made) return made;
      if (await this.rows.publish(made)) return this.outcomeOf(made, false);
    }
  }

  /** The new version; undefined: the values are current already. */
  private async versionFor(
    { scope, commandId, correlationId, causationId, actor }: CommandMeta,
    { locale, restores, expected, apply, by }: ThemeEdit,
    newest: ThemeVersion | undefined,
  ): Promise<ThemeVersion | Extract<ThemeOutcome, Refused> | undefined> {
    const { version = 0, values: current = null } = newest ?? {};
    if (expected !== undefined && expected !== version)
      return refused(
        'CHANGED_MEANWHILE',
        `version ${version} was published meanwhile: read it, then publish again`,
      );
    const from = restores === undefined ? newest : await this.rows.version(scope, locale, restores);
    if (restores !== undefined && from === undefined) return refused('THEME_VERSION_NOT_FOUND');
    const edited = await apply(from?.values ?? null);
    if ('refused' in edited) return edited;
    const { values, bytes } = edited;
    if (values === null && current === null) return refused('THEME_NOT_FOUND');
    // A locale without own values stays without any.
    if (values !== null && JSON.stringify(values) === JSON.stringify(current ?? {}))
      return undefined;
    const now = timeNow();
    const limits = await this.rows.limits(scope, now);
    const problem = refusalOfChange(limits, locale, values && bytes);
    if (problem?.refused === 'THEME_CHANGED_TOO_MUCH') return { ...problem, waitMs: limits.waitMs };
    if (problem) return problem;
    return {
      // The row carries the idempotency key; its event is recorded once in any case.
      meta: { scope, commandId, correlationId, causationId, actor, idempotency: null },
      locale,
      version: version + 1,
      values,
      bytes,
      restores: restores ?? null,
      by: by ?? null,
      at: now,
      position: null,
    };
  }

  private async outcomeOf(made: ThemeVersion, replayed: boolean): Promise<ThemeOutcome> {
    const { meta, locale, version } = made;
    const position = made.position ?? (await this.record(made));
    const before = await this.rows.version(meta.scope, locale, version - 1);
    return { version, before: before?.values ?? null, changed: true, position, replayed };
  }

  private async record(made: ThemeVersion): Promise<Position> {
    const position = await this.commands.execute(
      new ThemeCommandEnvelope(made.meta, eventOf(made)),
    );
    await this.rows.recorded(made, position);
    return position;
  }
}

function eventOf({ at, locale, version, by, values, restores }: ThemeVersion): ThemeEvent {
  const facts = { at, locale, version, by };
  return values === null
    ? { type: 'ThemeRemoved', ...facts }
    : { type: 'ThemePublished', ...facts, digest: digestOf(values), restores };
}

const NONE = Promise.resolve<EditedTheme>({ values: null, bytes: 0 });

async function checked(values: unknown, isWhole: boolean): Promise<EditedTheme | Refused> {
  const bytes = bytesOf(values);
  if (bytes === undefined) return refused('THEME_INVALID', '/ is nested too deep');
  if (bytes > THEME_BYTES_MAX) return refused('THEME_TOO_LARGE');
  // Loaded with the first change: most operators' commands need neither schema nor templates.
  const { themeFaults } = await import('./theme-faults.js');
  const faults = themeFaults(values, { isWhole });
  if (faults.length > 0) return refused('THEME_INVALID', ...faults);
  if (!isMembers(values)) throw new Error('the schema takes nothing but objects');
  return { values, bytes };
}

/** Bytes of compact JSON. Undefined: nested deeper than the stack allows. */
function bytesOf(values: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(values ?? null));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
