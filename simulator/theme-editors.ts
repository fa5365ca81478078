import type { ThemeOutcome } from '../src/command-handling/commands.js';
import type { Scope } from '../src/domain/scope.js';
import type { CommandMeta } from '../src/event-log/envelope.js';
import { newId } from '../src/foundation/world.js';
import type { Members } from '../src/themes/merge-members.js';
import { ThemeChanges } from '../src/themes/theme-changes.js';
import { whenBroken } from './broken-connections.js';
import type { SeededRandom } from './seeded-random.js';
import type { SimulatedService } from './service.js';
import { Owner, type VirtualWorld } from './virtual-world.js';

/** Between two changes of one of them, at most. */
const EVERY_MS = 600;
/** An editor gives up then. */
const ANSWER_WITHIN_MS = 30_000;
const TRIES = 3;
/** Some chapters. */
const CHANGES_MAX = 80;
/** Versions that they go back to. */
const VERSIONS = 8;
/** The default, a language, and a language of a country. */
export const LOCALES = [null, 'de', 'de_AT'] as const;
type Locale = (typeof LOCALES)[number];

export type ThemeWish =
  | { readonly kind: 'put' | 'patch'; readonly locale: Locale; readonly values: Members }
  | { readonly kind: 'remove'; readonly locale: string }
  | { readonly kind: 'restore'; readonly locale: Locale; readonly version: number };

/** One try of a change that an editor wishes for. */
export interface AskedTheme {
  /** The same object in each try. */
  readonly wish: ThemeWish;
  /** Undefined: not answered. */
  outcome: ThemeOutcome | undefined;
}

export interface ThemeEditorsParts {
  readonly world: VirtualWorld;
  readonly random: SeededRandom;
  readonly scope: Scope;
  readonly services: readonly SimulatedService[];
  /** At once; 0: the theme stays the built-in one. */
  readonly editors: number;
}

/** The same kind of service as it ships, without a look at the schema. */
export const themeChangesOf = ({ commands, handling }: SimulatedService): ThemeChanges =>
  new ThemeChanges(commands, handling.themeJournal, () => Promise.resolve(() => []));

/** Marketing staff who change the theme of a tenant at once, through any process. */
export class ThemeEditors {
  /** By the correlation of each try. */
  readonly asked = new Map<string, AskedTheme>();
  private wishes = 0;
  private isOver = false;

  constructor(private readonly parts: ThemeEditorsParts) {}

  start(): void {
    for (let n = 0; n < this.parts.editors; n++) this.later(new Owner(`theme editor ${n}`));
  }

  /** From now on the theme stays as it is. */
  stop(): void {
    this.isOver = true;
  }

  private later(owner: Owner): void {
    const { world } = this.parts;
    world.hand(owner, () => this.next(owner), world.within(EVERY_MS));
  }

  private next(owner: Owner): void {
    if (this.isOver || this.wishes >= CHANGES_MAX) return;
    const { random } = this.parts;
    const wish = this.wish();
    const key = random.onceIn(2) ? random.uuid() : null;
    this.try({ wish, key, owner }, key === null ? 1 : TRIES);
  }

  private wish(): ThemeWish {
    const { random } = this.parts;
    const locale = random.oneOf(LOCALES);
    // No two changes ask for the same values.
    const text = `text ${(this.wishes += 1)}`;
    const page = { [random.oneOf(['heading', 'text', 'buttonText'])]: text };
    switch (random.below(6)) {
      case 0:
        return { kind: 'put', locale, values: { jsOptions: {}, widget: {}, email: {}, page } };
      case 1:
        return { kind: 'restore', locale, version: 1 + random.below(VERSIONS) };
      case 2:
        return locale === null
          ? { kind: 'patch', locale, values: { page: null } }
          : { kind: 'remove', locale };
      default:
        return { kind: 'patch', locale, values: { page } };
    }
  }

  /** Without a key an editor does not repeat what may have been done. */
  private try(
    asking: { readonly wish: ThemeWish; readonly key: string | null; readonly owner: Owner },
    left: number,
  ): void {
    const { world, random, scope, services } = this.parts;
    const { wish, key, owner } = asking;
    const service = random.oneOf(services);
    const meta = metaOf(scope, key === null ? null : { key, fingerprint: JSON.stringify(wish) });
    const asked: AskedTheme = { wish, outcome: undefined };
    this.asked.set(meta.correlationId, asked);
    let isOver = false;
    const finish = (outcome: ThemeOutcome | undefined): void => {
      if (isOver) return;
      isOver = true;
      stopWaiting();
      stopWatching();
      asked.outcome = outcome;
      if (outcome === undefined && left > 1) this.try(asking, left - 1);
      else this.later(owner);
    };
    const stopWaiting = world.after(ANSWER_WITHIN_MS, () => finish(undefined));
    const ends = { of: service.owner, to: owner };
    const stopWatching = whenBroken(this.parts, ends, () => finish(undefined));
    world.hand(service.owner, () => {
      void change(themeChangesOf(service), meta, wish).then(
        (outcome) => world.hand(owner, () => finish(outcome)),
        () => world.hand(owner, () => finish(undefined)),
      );
    });
  }
}

function change(themes: ThemeChanges, meta: CommandMeta, wish: ThemeWish): Promise<ThemeOutcome> {
  switch (wish.kind) {
    case 'put':
      return themes.put(meta, wish.locale, wish.values);
    case 'patch':
      return themes.patch(meta, wish.locale, wish.values);
    case 'remove':
      return themes.remove(meta, wish.locale);
    case 'restore':
      return themes.restore(meta, { ...wish, by: EDITOR });
  }
}

const EDITOR = { subject: '00000000-0000-4000-8000-000000000002', value: null };

function metaOf(scope: Scope, idempotency: CommandMeta['idempotency']): CommandMeta {
  const [commandId, correlationId] = [newId(), newId()];
  const actor = { kind: 'system', id: 'simulator' } as const;
  return { scope, commandId, correlationId, causationId: correlationId, actor, idempotency };
}
