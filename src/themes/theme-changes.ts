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

/** A change of a locale's own values. */
interface ThemeEdit {
  /** Null: the default. */
  readonly locale: string | null;
  /** The version whose values are to be current again. */
  readonly restores?: number;
  /** The newest version that its author saw: another one now is refused. */
  readonly expected?: number | undefined;
  /**
   * The values wanted (null: none), from the current ones, or from those of the version `restores`.
   * May be called several times.
   */
  readonly apply: (values: ThemeValues | null) => Promise<EditedTheme | Refused>;
  /** The member of staff; default: the caller of the command. */
  readonly by?: Personal<string>;
}

interface EditedTheme {
  readonly values: ThemeValues | null;
  /** UTF-8 bytes of the values as JSON. */
  readonly bytes: number;
}

export type ThemeOutcome =
  | {
      /** The newest of the locale; 0: there is none. */
      readonly version: number;
      /** The own values of the locale; null: none. */
      readonly before: ThemeValues | null;
      /** False: the values were these before. */
      readonly changed: boolean;
      readonly position: Position | null;
      readonly replayed: boolean;
    }
  | (Refused & {
      /** Of a change that a day does not allow: milliseconds until one may be taken. */
      readonly waitMs?: number;
    });

/**
 * Changes of the tenants' themes: a row first, then its audit event. Refusals: `THEME_TOO_LARGE`;
 * `THEME_INVALID` with a line for each fault; `THEME_NOT_FOUND`, `THEME_VERSION_NOT_FOUND`;
 * `CHANGED_MEANWHILE`; `THEME_CHANGED_TOO_MUCH` with the time to wait.
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

  /** Why these values would not be taken; undefined: they would. */
  async refusalOf(values: unknown): Promise<Refused | undefined> {
    const edited = await checked(values, true);
    return 'refused' in edited ? edited : undefined;
  }

  /**
   * A JSON merge patch on the own values of a locale. Those of a default without any are the
   * built-in ones: so it is shown.
   */
  patch(meta: CommandMeta, locale: string | null, patch: unknown): Promise<ThemeOutcome> {
    return this.change(meta, {
      locale,
      apply: (values) => {
        const base = values ?? (locale === null ? { ...BUILT_IN_THEME } : {});
        return checked(isMembers(patch) ? mergePatch(base, patch) : patch, false);
      },
    });
  }

  /** Removes the own values of a locale. */
  remove(meta: CommandMeta, locale: string): Promise<ThemeOutcome> {
    return this.change(meta, { locale, apply: () => NONE });
  }

  /** Makes the values of a version current again, as a new version. */
  restore(
    meta: CommandMeta,
    edit: Required<Pick<ThemeEdit, 'locale' | 'restores' | 'by'>>,
  ): Promise<ThemeOutcome> {
    const apply = (values: ThemeValues | null) => (values === null ? NONE : checked(values, false));
    return this.change(meta, { ...edit, apply });
  }

  /** Records what a crash or an outage of the log left without an audit event. */
  async recordMissing(): Promise<void> {
    for (const made of await this.rows.unrecorded()) await this.record(made);
  }

  /** Decides again on the newest values when another change was faster. */
  private async change(meta: CommandMeta, edit: ThemeEdit): Promise<ThemeOutcome> {
    for (;;) {
      const earlier = await this.rows.ofCommand(meta.commandId);
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

  /** The version that a change makes; undefined: the values are current already. */
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
    // A locale without values of its own stays one.
    if (values !== null && JSON.stringify(values) === JSON.stringify(current ?? {}))
      return undefined;
    const now = timeNow();
    const limits = await this.rows.limits(scope, now);
    const problem = refusalOfChange(limits, locale, values && bytes);
    if (problem?.refused === 'THEME_CHANGED_TOO_MUCH') return { ...problem, waitMs: limits.waitMs };
    if (problem) return problem;
    return {
      // An idempotency key answers for the row. The event is recorded once in any case.
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
  // Loaded with the first change: most commands of operators need neither schema nor templates.
  const { themeFaults } = await import('./theme-faults.js');
  const faults = themeFaults(values, { isWhole });
  if (faults.length > 0) return refused('THEME_INVALID', ...faults);
  if (!isMembers(values)) throw new Error('the schema takes nothing but objects');
  return { values, bytes };
}

/** As compact JSON. Undefined: nested deeper than the stack is. */
function bytesOf(values: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(values ?? null));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
