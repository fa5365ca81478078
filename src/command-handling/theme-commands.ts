import type { ICommandHandler } from '@nestjs/cqrs';
import type { Scope } from '../domain/scope.js';
import { refused, type Refused } from '../domain/refusal.js';
import {
  decide,
  isFull,
  waitForChange,
  type ChangeTheme,
  type ThemeEvent,
  type ThemesState,
} from '../domain/theme/theme.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { EventLogUnavailable, type Position } from '../event-log/event-log.js';
import { timeNow } from '../foundation/world.js';
import type { ThemeCommandEnvelope, ThemeEdit, ThemeOutcome } from './commands.js';
import type { Outcome } from './outcome.js';
import type { Streams } from './streams.js';
import type { ThemeJournal } from './theme-journal.js';

/** What a chapter said to a change. */
interface Tried {
  readonly outcome: Outcome<ThemesState, ThemeEvent>;
  /** Before it. */
  readonly state: ThemesState;
  readonly isFull: boolean;
  readonly waitMs: number;
}

/** Decides on changes of themes: in the chapter that has room, on the values in the log. */
export class ThemeCommands implements ICommandHandler<ThemeCommandEnvelope> {
  constructor(
    private readonly streams: Pick<Streams, 'themes'>,
    private readonly journal: ThemeJournal,
  ) {}

  async execute({ meta, edit }: ThemeCommandEnvelope): Promise<ThemeOutcome> {
    const earlier = await this.journal.chapterOfEarlier(meta);
    for (let chapter = earlier ?? (await this.journal.head(meta.scope)); ; chapter++) {
      const tried = await this.tryIn(chapter, meta, edit);
      if (!tried.isFull) {
        const outcome = await this.outcomeOf(tried, meta.scope, edit);
        if ('refused' in outcome || outcome.position !== null || chapter === 0) return outcome;
        return { ...outcome, position: await this.endOf(chapter - 1, meta) };
      }
    }
  }

  /** Where a full chapter ends: what a change that changed nothing rests on. */
  private async endOf(chapter: number, meta: CommandMeta): Promise<Position | null> {
    const stream = this.journal.streamOf(meta.scope, chapter);
    const ended = await this.streams.themes.handle(stream, meta, () => ({ events: [] }));
    return ended.kind === 'accepted' ? ended.position : null;
  }

  private async tryIn(chapter: number, meta: CommandMeta, edit: ThemeEdit): Promise<Tried> {
    const { scope } = meta;
    const before = await this.journal.stateUpTo(scope, chapter);
    let last = { state: before, isFull: false, waitMs: 0 };
    const stream = this.journal.streamOf(scope, chapter);
    const outcome = await this.streams.themes.handle(stream, meta, async (own) => {
      // The chapters before this one are full: what they amount to does not change.
      const opens = own.changes === 0 && chapter > 0;
      if (opens && !isFull(before, chapter - 1))
        throw new EventLogUnavailable('the log has just lost changes of themes');
      const state = opens ? before : own;
      last = { state, isFull: isFull(state, chapter), waitMs: 0 };
      if (last.isFull) return { events: [] };
      const command = await this.commandFor(scope, state, edit);
      if ('refused' in command) return command;
      const { values, bytes, now } = command;
      last.waitMs = waitForChange(state, values && bytes, now);
      return decide(state, command, opens);
    });
    return { ...last, outcome };
  }

  private async commandFor(
    scope: Scope,
    state: ThemesState,
    { locale, restores, expected, apply, by }: ThemeEdit,
  ): Promise<ChangeTheme | Refused> {
    const newest = state.locales.get(locale)?.version ?? 0;
    if (expected !== undefined && expected !== newest)
      return refused(
        'CHANGED_MEANWHILE',
        `somebody has published version ${newest} meanwhile: look at it first`,
      );
    const current = await this.journal.valuesOf(scope, state, locale);
    let from = current;
    if (restores !== undefined) {
      const version = await this.journal.version(scope, state, locale, restores);
      if (version === undefined) return { refused: 'THEME_VERSION_NOT_FOUND' };
      from = version.event.type === 'ThemePublished' ? version.event.values : null;
    }
    const edited = apply(from);
    if ('refused' in edited) return edited;
    return {
      locale,
      current,
      ...edited,
      restores: restores ?? null,
      by: by ?? null,
      now: timeNow(),
    };
  }

  private async outcomeOf(
    { outcome, state: unchanged, waitMs }: Tried,
    scope: Scope,
    { locale }: ThemeEdit,
  ): Promise<ThemeOutcome> {
    if (outcome.kind === 'refused') {
      const { refused, details } = outcome;
      return refused === 'THEME_CHANGED_TOO_MUCH'
        ? { refused, details, waitMs }
        : { refused, details };
    }
    if (outcome.kind !== 'accepted')
      throw new Error('a change of a theme was neither accepted nor refused');
    const { events, position, replayed } = outcome;
    const [event] = events;
    const state = event === undefined ? unchanged : outcome.state;
    const after = await this.journal.valuesOf(scope, state, locale);
    let before = after;
    if (event !== undefined)
      before = event.before === null ? null : await this.journal.valuesAt(scope, event.before);
    return { state, before, after, changed: event !== undefined, position, replayed };
  }
}
