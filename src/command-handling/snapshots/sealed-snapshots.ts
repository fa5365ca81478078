import { hkdfSync } from 'node:crypto';
import { z } from 'zod';
import type { SubjectId } from '../../domain/personal.js';
import { openBytes, sealBytes } from '../../privacy/sealed-bytes.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { HandledCommands, type HandledCommandEntries } from '../handled-commands.js';
import type { SnapshotRow, SnapshotRows } from './snapshot-rows.js';
import { stateOf, TextTooLong, textOf } from './state-text.js';

/** What a fold came to, without its place in the log. */
export interface SnapshotContent {
  readonly state: unknown;
  readonly handled: HandledCommands;
  readonly bytes: number;
}

/** A state as of an event that the log must still have in its place. */
export interface FoundSnapshot extends SnapshotContent {
  readonly revision: bigint;
  readonly eventId: string;
  readonly subjects: readonly SubjectId[];
}

export interface SnapshotParts {
  readonly rows: SnapshotRows;
  readonly keys: Pick<SubjectKeys, 'load'>;
  /** Of the code that folds. */
  readonly version: () => Promise<string>;
  /** A snapshot that could not be read or written: the stream is folded from its events. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * A text is made and read in one go, some 10 ms for each million characters. An account with so
 * much has some 5 000 rewards.
 */
const CHARACTERS_MAX = 2_000_000;
const SUBJECTS_MAX = 1_000;

/**
 * Snapshots are sealed with a key that is made of the keys of all people whose values they may
 * contain: when one of these is destroyed, nobody can open the snapshot any more, copies of the
 * database included.
 */
export class SealedSnapshots {
  private isWriting = false;

  constructor(private readonly parts: SnapshotParts) {}

  /** Undefined: there is none that this release can open. Never throws. */
  async find(stream: string): Promise<FoundSnapshot | undefined> {
    const { rows, version, onFailure } = this.parts;
    try {
      const row = await rows.find(stream);
      if (row?.version !== (await version())) return undefined;
      const key = await this.keyOf(row.subjects);
      if (key === undefined) {
        await rows.drop(stream);
        return undefined;
      }
      const text = openBytes(key, row.sealed, contextOf(row)).toString();
      const [state, handled, bytes] = content.parse(stateOf(text));
      const { revision, eventId, subjects } = row;
      return { state, handled: HandledCommands.of(handled), bytes, revision, eventId, subjects };
    } catch (error) {
      onFailure(error);
      return undefined;
    }
  }

  /** In the background; one at a time, others are left out. Never throws. */
  keep(stream: string, { revision, eventId, subjects, ...kept }: FoundSnapshot): void {
    if (this.isWriting || subjects.length > SUBJECTS_MAX) return;
    this.isWriting = true;
    // The commands go on being recorded in the same object.
    const handled = kept.handled.entries();
    void this.write({ stream, revision, eventId, subjects }, [kept.state, handled, kept.bytes])
      .catch((error: unknown) => {
        if (!(error instanceof TextTooLong)) this.parts.onFailure(error);
      })
      .finally(() => (this.isWriting = false));
  }

  /** Never throws. */
  async drop(stream: string): Promise<void> {
    try {
      await this.parts.rows.drop(stream);
    } catch (error) {
      this.parts.onFailure(error);
    }
  }

  private async write(
    place: Omit<SnapshotRow, 'version' | 'sealed'>,
    kept: readonly unknown[],
  ): Promise<void> {
    const key = await this.keyOf(place.subjects);
    if (key === undefined) return;
    const row = { ...place, version: await this.parts.version() };
    const text = textOf(kept, CHARACTERS_MAX);
    const sealed = sealBytes(key, Buffer.from(text), contextOf(row));
    await this.parts.rows.keep({ ...row, sealed });
  }

  /** Undefined: one of them is forgotten, or there is nobody whose key it could be. */
  private async keyOf(subjects: readonly SubjectId[]): Promise<Buffer | undefined> {
    const keys = await this.parts.keys.load(subjects);
    const inOrder = [...subjects].sort().map((subject) => keys.get(subject) ?? null);
    if (inOrder.length === 0 || inOrder.includes(null)) return undefined;
    const all = Buffer.concat(inOrder.flatMap((key) => (key === null ? [] : [key])));
    return Buffer.from(hkdfSync('sha256', all, '', 'stream snapshot', 32));
  }
}

const content = z.tuple([z.unknown(), z.custom<HandledCommandEntries>(Array.isArray), z.number()]);

const contextOf = ({ stream, version, revision, eventId }: Omit<SnapshotRow, 'sealed'>): string =>
  JSON.stringify(['snapshot', stream, version, String(revision), eventId]);
