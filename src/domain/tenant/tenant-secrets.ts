import type { Mode } from '../scope.js';

/** What API keys and signing secrets have in common: a mode, an id, an end. */

/** From `validUntil` on it is refused; null: it has no end. */
export interface Retirable {
  readonly validUntil: number | null;
}

/** The id of a signing secret; a tenant's first one of a mode has none in its event. */
export const secretIdOf = ({
  secretId,
  mode,
}: {
  readonly secretId?: string;
  readonly mode: Mode;
}): string => secretId ?? `signing-${mode}`;

/** Those that new ones of the same mode replace: none of them is given more time. */
export function retire<T extends Retirable & { readonly mode: Mode }>(
  present: readonly T[],
  issued: readonly { readonly mode: Mode }[],
  validUntil: number,
): readonly T[] {
  const modes = new Set(issued.map(({ mode }) => mode));
  return present.filter(
    (old) => modes.has(old.mode) && (old.validUntil === null || old.validUntil > validUntil),
  );
}
