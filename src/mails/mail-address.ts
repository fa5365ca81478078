import type { EmailTheme } from '../themes/theme-instance.js';

export const MAIL_ADDRESS_CHARACTERS_MAX = 254;

/**
 * One address and nothing else, without quotes, comments and line breaks: what a mail can be sent
 * to and be from. Beside it counts `MAIL_ADDRESS_CHARACTERS_MAX`.
 */
export const MAIL_ADDRESS =
  /^(?=[^@]{1,64}@)[^\s<>()[\]\\.,;:@"\p{C}]+(?:\.[^\s<>()[\]\\.,;:@"\p{C}]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62}[\p{L}\p{N}])?\.)+(?:\p{L}{2,63}|[Xx][Nn]--[A-Za-z0-9-]{1,59})$/u;

/** By `MAIL_ADDRESS`. Stricter than what a user's `email` may be. */
export const isMailAddress = (text: string): boolean =>
  text.length <= MAIL_ADDRESS_CHARACTERS_MAX && MAIL_ADDRESS.test(text);

/** Of a `From`. */
export interface NamedAddress {
  readonly name: string;
  readonly address: string;
}

/**
 * Who the mails of a theme are from.
 * @param ours the address where the theme has none, or one that was stored under older rules.
 */
export function senderOf(
  { fromName: name, fromAddress }: EmailTheme['configuration'],
  ours: string,
): NamedAddress {
  const isUsable = fromAddress !== undefined && isMailAddress(fromAddress);
  return { name, address: isUsable ? fromAddress : ours };
}

/** Two spellings of an address are one. */
export const sameAddress = (address: string): string => address.trim().toLowerCase();

/** The host of the service's public address, which mails name as theirs. */
export const hostOf = (publicUrl: string): string =>
  URL.canParse(publicUrl) ? new URL(publicUrl).hostname : 'localhost';
