export const MAIL_ADDRESS_CHARACTERS_MAX = 254;

/**
 * One address and nothing else, without quotes, comments and line breaks: a recipient or sender of
 * mails. `MAIL_ADDRESS_CHARACTERS_MAX` applies as well.
 */
export const MAIL_ADDRESS =
  /^(?=[^@]{1,64}@)[^\s<>()[\]\\.,;:@"\p{C}]+(?:\.[^\s<>()[\]\\.,;:@"\p{C}]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62}[\p{L}\p{N}])?\.)+(?:\p{L}{2,63}|[Xx][Nn]--[A-Za-z0-9-]{1,59})$/u;

/** By `MAIL_ADDRESS`. Stricter than what a user's `email` may be. */
export const isMailAddress = (text: string): boolean =>
  [...text].length <= MAIL_ADDRESS_CHARACTERS_MAX && MAIL_ADDRESS.test(text);

export const MAIL_DOMAINS_MAX = 100;

/** A domain of mail addresses. */
export const isMailDomain = (text: string): boolean => isMailAddress(`a@${text}`);

/** Two spellings of an address are one. */
export const sameAddress = (address: string): string => address.trim().toLowerCase();
