import { LRUCache } from 'lru-cache';
import type { Scope } from '../domain/scope.js';
import {
  isFull,
  placeOf,
  type ThemeEvent,
  type ThemesState,
  type ThemeValues,
} from '../domain/theme/theme.decider.js';
import type { Decoded, EventCodec } from '../event-log/codec.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { EventLogUnavailable, type EventLog } from '../event-log/event-log.js';
import { upToEntries } from '../foundation/up-to-entries.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import { REPLAYED_MS } from './handled-commands.js';
import type { ReadableStreams } from './readable-streams.js';

/** A change of themes, as it is recorded. */
export interface RecordedThemeChange extends Pick<Decoded, 'envelope' | 'recorded'> {
  readonly event: ThemeEvent;
}

/** Versions of a locale that can be listed and restored, the newest ones. */
export const VERSIONS_MAX = 1_000;

const KNOWN_HEADS_MAX = 10_000;

/** The chapters of themes (src/domain/theme), and the changes in them. */
export class ThemeJournal {
  /** Chapters that are or were the newest ones. */
  private readonly heads = new LRUCache<string, number>(upToEntries(KNOWN_HEADS_MAX));

  constructor(
    private readonly log: Pick<EventLog, 'readStream' | 'onWentBack'>,
    private readonly codec: EventCodec,
    private readonly streams: Pick<ReadableStreams, 'themes'>,
    private readonly names: KeyedNames,
  ) {
    log.onWentBack(() => this.heads.clear());
  }

  streamOf(scope: Scope, chapter: number): string {
    return this.names.themeStream(scope, chapter);
  }

  /** The chapter that takes the next change; it may be empty. */
  async head(scope: Scope): Promise<number> {
    const key = `${scope.mode} ${scope.tenant}`;
    let chapter = this.heads.get(key) ?? (await this.lastBegun(scope));
    // A full one whose end the log has lost takes changes again.
    while (chapter > 0 && !isFull(await this.folded(scope, chapter - 1), chapter - 1)) chapter--;
    while (isFull(await this.folded(scope, chapter), chapter)) chapter++;
    this.heads.set(key, chapter);
    return chapter;
  }

  /** After all changes. */
  async state(scope: Scope): Promise<ThemesState> {
    return this.stateUpTo(scope, await this.head(scope));
  }

  /** After all changes up to this chapter, which may be empty. */
  async stateUpTo(scope: Scope, chapter: number): Promise<ThemesState> {
    const state = await this.folded(scope, chapter);
    return state.changes === 0 && chapter > 0 ? this.folded(scope, chapter - 1) : state;
  }

  /**
   * The chapter that has the effect of an earlier attempt of this command; undefined: none has.
   * Changes are few enough a day for all of a week to be searched.
   */
  async chapterOfEarlier(meta: CommandMeta): Promise<number | undefined> {
    const { scope, idempotency, askedAt = timeNow() } = meta;
    if (idempotency === null) return undefined;
    for (let chapter = await this.head(scope); chapter >= 0; chapter--) {
      const { handled, state } = await this.streams.themes.load(this.streamOf(scope, chapter));
      if (handled.find(meta)) return chapter;
      // `usedAt` is the time of the newest change.
      if (state.changes > 0 && state.usedAt < askedAt - REPLAYED_MS) return undefined;
    }
    return undefined;
  }

  /** Own values now; null: the locale has none. */
  async valuesOf(
    scope: Scope,
    { locales }: Pick<ThemesState, 'locales'>,
    locale: string | null,
  ): Promise<ThemeValues | null> {
    const known = locales.get(locale);
    return known === undefined || known.bytes === null ? null : this.valuesAt(scope, known.change);
  }

  /** Own values after this change; null: there were none. */
  async valuesAt(scope: Scope, change: number): Promise<ThemeValues | null> {
    const { event } = await this.changeAt(scope, change);
    return event.type === 'ThemePublished' ? event.values : null;
  }

  /** @throws {EventLogUnavailable} also when the log has just lost it. */
  async changeAt(scope: Scope, change: number): Promise<RecordedThemeChange> {
    const { chapter, revision } = placeOf(change);
    const stream = this.streamOf(scope, chapter);
    for await (const recorded of this.log.readStream(stream, { from: revision, limit: 1 })) {
      const [decoded] = await this.codec.decodeAll([recorded]);
      if (decoded && recorded.revision === revision)
        return { ...decoded, event: decoded.event as ThemeEvent };
    }
    throw new EventLogUnavailable('a change of themes is not in the log');
  }

  /** The version of a locale's own values; undefined: none, or one too far back. */
  async version(
    scope: Scope,
    { locales }: ThemesState,
    locale: string | null,
    version: number,
  ): Promise<RecordedThemeChange | undefined> {
    const newest = locales.get(locale);
    if (newest === undefined || version > newest.version) return undefined;
    for await (const change of this.history(scope, newest.change))
      if (change.event.version === version) return change;
    return undefined;
  }

  /**
   * The versions of a locale, newest first, at most `VERSIONS_MAX`. @param change the place of its
   * newest.
   */
  async *history(scope: Scope, change: number): AsyncIterable<RecordedThemeChange> {
    let place: number | null = change;
    for (let read = 0; place !== null && read < VERSIONS_MAX; read++) {
      const found: RecordedThemeChange = await this.changeAt(scope, place);
      yield found;
      place = found.event.before;
    }
  }

  private async folded(scope: Scope, chapter: number): Promise<ThemesState> {
    return (await this.streams.themes.load(this.streamOf(scope, chapter))).state;
  }

  /** By doubling, then by halving: chapters are begun in order. */
  private async lastBegun(scope: Scope): Promise<number> {
    let begun = 0;
    let missing = 1;
    while (await this.isBegun(scope, missing)) {
      begun = missing;
      missing *= 2;
    }
    while (missing - begun > 1) {
      const middle = Math.floor((begun + missing) / 2);
      if (await this.isBegun(scope, middle)) begun = middle;
      else missing = middle;
    }
    return begun;
  }

  private async isBegun(scope: Scope, chapter: number): Promise<boolean> {
    const stream = this.streamOf(scope, chapter);
    for await (const _ of this.log.readStream(stream, { limit: 1 })) return true;
    return false;
  }
}
