// eslint-disable-next-line no-restricted-imports -- the one place that the rule names
import { v5 } from 'uuid';

const NAMESPACE = Buffer.from('6f1b0a3c5d2e4f7891a2b3c4d5e6f708', 'hex');

/**
 * A UUID (version 5) that is equal for equal cause and step, so that a repeated command makes the
 * same events. From bytes: the library throws on text that is not well-formed.
 */
export const deterministicId = (cause: string, step: string | number): string =>
  v5(Buffer.from(`${cause}/${step}`), NAMESPACE);
