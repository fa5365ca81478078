import type { IncomingMessage } from 'node:http';
import type { Turn } from '../../foundation/fair-slots.js';
import { KeptWith } from '../../foundation/kept-with.js';
import { after } from '../../foundation/world.js';

/** A shorter wait keeps its slot: giving it back may mean to queue again. */
const ASIDE_AFTER_MS = 10;

const turns = new KeptWith<IncomingMessage, Turn>('turn');

/** The request has this turn among those that are worked on. */
export function hasTurn(request: IncomingMessage, turn: Turn): void {
  turns.set(request, turn);
}

/** Waits for what others do; meanwhile another request may have the slot of this one. */
export async function waitAside<T>(request: IncomingMessage, wait: () => Promise<T>): Promise<T> {
  const turn = turns.get(request);
  if (turn === undefined) return wait();
  const cancel = after(ASIDE_AFTER_MS, () => turn.pause());
  try {
    return await wait();
  } finally {
    cancel();
    await turn.resume();
  }
}
