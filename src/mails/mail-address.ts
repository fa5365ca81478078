const ADDRESS =
  /^[^\s<>()[\]\\.,;:@"\p{C}]+(?:\.[^\s<>()[\]\\.,;:@"\p{C}]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62}[\p{L}\p{N}])?\.)+\p{L}{2,63}$/u;

const CHARACTERS_MAX = 254;
const LOCAL_CHARACTERS_MAX = 64;

/**
 * Whether a mail can be sent to this address: one address and nothing else, without quotes,
 * comments and line breaks. Stricter than what a user's `email` may be.
 */
export const isMailAddress = (text: string): boolean =>
  text.length <= CHARACTERS_MAX && text.indexOf('@') <= LOCAL_CHARACTERS_MAX && ADDRESS.test(text);

/** Two spellings of an address are one. */
export const sameAddress = (address: string): string => address.trim().toLowerCase();

/** The host of the service's public address, which mails name as theirs. */
export const hostOf = (publicUrl: string): string =>
  URL.canParse(publicUrl) ? new URL(publicUrl).hostname : 'localhost';
