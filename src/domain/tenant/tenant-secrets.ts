import type { Mode } from '../scope.js';

/** Refused from `validUntil` on; null: never. */
export interface Retirable {
  readonly validUntil: number | null;
}

/** A tenant's first secret of a mode has no id in its event. */
export const secretIdOf = ({
  secretId,
  mode,
}: {
  readonly secretId?: string;
  readonly mode: Mode;
}): string => secretId ?? `signing-${mode}`;

/** Those of a mode that new ones replace, without extending any. */
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
