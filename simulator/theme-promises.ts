import { isDeepStrictEqual } from 'node:util';
import {
  CHANGES_PER_CHAPTER,
  type ThemeEvent,
  type ThemeValues,
} from '../src/domain/theme/theme.decider.js';
import type { Scope } from '../src/domain/scope.js';
import type { Decoded } from '../src/event-log/codec.js';
import type { KeyedNames } from '../src/privacy/keyed-names.js';
import { BUILT_IN_THEME } from '../src/themes/built-in-theme.js';
import { mergePatch } from '../src/themes/merge-members.js';
import type { OwnValues } from '../src/themes/resolve-theme.js';
import { isKeyUsedTwice } from './explained.js';
import type { SimulatedReadModels } from './simulated-read-models.js';
import { themeRows } from './simulated-themes.js';
import type { AskedTheme, ThemeWish } from './theme-editors.js';

interface Told {
  readonly log: readonly Decoded[];
  readonly lost: readonly Decoded[];
  readonly scope: Scope;
  readonly names: KeyedNames;
  /** By the correlation of each try. */
  readonly asked: ReadonlyMap<string, AskedTheme>;
}

/** A locale as the log has it so far. */
interface TracedLocale {
  /** After each version, the first one at 0. */
  readonly versions: (ThemeValues | null)[];
  /** The place of the newest. */
  change: number;
}

interface Change extends Decoded {
  readonly event: ThemeEvent;
}

/** The own values by the log, traced apart from the code that decides on them. */
export class TracedThemes {
  readonly broken: string[] = [];
  private readonly locales = new Map<string | null, TracedLocale>();
  private changes = 0;

  constructor(private readonly told: Told) {
    for (const decoded of told.log) if (isChange(decoded)) this.note(decoded);
    this.broken.push(...this.unexplained());
  }

  /** Now, by locale. */
  get own(): OwnValues {
    return new Map(
      [...this.locales].flatMap(([locale, { versions }]) => {
        const values = versions.at(-1) ?? null;
        return values === null ? [] : [[locale, values] as const];
      }),
    );
  }

  versionOf(locale: string | null): number {
    return this.locales.get(locale)?.versions.length ?? 0;
  }

  /** Each change stands on the one before, and says what its editor wished for. */
  private note({ event, recorded, envelope }: Change): void {
    const { scope, names, asked } = this.told;
    const name = `the change ${this.changes} of themes (${recorded.id})`;
    const chapter = Math.floor(this.changes / CHANGES_PER_CHAPTER);
    const revision = BigInt(this.changes % CHANGES_PER_CHAPTER);
    const isInPlace =
      recorded.stream === names.themeStream(scope, chapter) && recorded.revision === revision;
    if (!isInPlace || event.change !== this.changes)
      this.broken.push(`${name} is at ${recorded.revision} and says ${event.change}`);
    const known = this.locales.get(event.locale) ?? { versions: [], change: -1 };
    if (event.version !== known.versions.length + 1)
      this.broken.push(`${name} is version ${event.version} behind ${known.versions.length}`);
    if ((event.before ?? -1) !== known.change)
      this.broken.push(`${name} is behind ${event.before ?? ''} instead of ${known.change}`);
    const values = event.type === 'ThemePublished' ? event.values : null;
    const wish = asked.get(envelope.correlationId)?.wish;
    const wanted = wish && wantedBy(wish, known.versions);
    if (!isDeepStrictEqual(values, wanted))
      this.broken.push(`${name} is not what ${JSON.stringify(wish)} makes of the version before`);
    known.versions.push(values);
    known.change = this.changes;
    this.locales.set(event.locale, known);
    this.changes += 1;
  }

  /** What was accepted is there once, and what was refused is not. */
  private unexplained(): string[] {
    const { log, lost, asked } = this.told;
    const gone = new Set(lost.map(({ envelope }) => envelope.correlationId));
    const counts = new Map<string, number>();
    const byWish = new Map<ThemeWish, number[]>();
    for (const { envelope, recorded } of log.filter(isChange)) {
      const { correlationId } = envelope;
      counts.set(correlationId, (counts.get(correlationId) ?? 0) + 1);
      const wish = asked.get(correlationId)?.wish;
      if (wish) byWish.set(wish, [...(byWish.get(wish) ?? []), recorded.recordedAt]);
    }
    return [
      ...[...byWish].flatMap(([wish, times]) =>
        isKeyUsedTwice(times)
          ? [`${times.length} changes of themes by ${JSON.stringify(wish)}`]
          : [],
      ),
      ...[...asked].flatMap(([correlationId, { wish, outcome }]) => {
        if (outcome === undefined || gone.has(correlationId)) return [];
        const count = counts.get(correlationId) ?? 0;
        if ('refused' in outcome)
          return count === 0 ? [] : [`refused, and there: ${JSON.stringify(wish)}`];
        const isOwn = outcome.changed && !outcome.replayed;
        return isOwn && count === 0 ? [`accepted, and not there: ${JSON.stringify(wish)}`] : [];
      }),
    ];
  }
}

const isChange = (decoded: Decoded): decoded is Change =>
  decoded.event.type === 'ThemePublished' || decoded.event.type === 'ThemeRemoved';

/** @param versions of the locale, up to the newest. */
function wantedBy(wish: ThemeWish, versions: readonly (ThemeValues | null)[]): ThemeValues | null {
  const current = versions.at(-1) ?? null;
  switch (wish.kind) {
    case 'put':
      return wish.values;
    case 'patch':
      return mergePatch(
        current ?? (wish.locale === null ? { ...BUILT_IN_THEME } : {}),
        wish.values,
      );
    case 'remove':
      return null;
    case 'restore':
      return versions[wish.version - 1] ?? null;
  }
}

/** The read theme is the one of the log. */
export function brokenThemeRows(
  readModels: SimulatedReadModels,
  scope: Scope,
  traced: TracedThemes,
): string[] {
  const rows = themeRows(readModels, scope);
  return [
    ...unlike(new Map(rows.map(({ locale, values }) => [locale, values])), traced.own).map(
      (what) => `the read theme ${what}`,
    ),
    ...rows.flatMap(({ locale, version }) =>
      version === traced.versionOf(locale)
        ? []
        : [`the read theme of ${locale} is version ${version} of ${traced.versionOf(locale)}`],
    ),
  ];
}

/** How own values differ from those of the log. */
export const unlike = (own: OwnValues, wanted: OwnValues): string[] =>
  [...new Set([...own.keys(), ...wanted.keys()])].flatMap((locale) =>
    isDeepStrictEqual(own.get(locale), wanted.get(locale))
      ? []
      : [
          `of ${locale} is ${JSON.stringify(own.get(locale))}, and ${JSON.stringify(wanted.get(locale))} in the log`,
        ],
  );
