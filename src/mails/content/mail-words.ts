/** The service's own words in a mail and on the page that unsubscribes. */
export interface MailWords {
  /** The link in a mail, and the title of its page. */
  readonly unsubscribe: string;
  readonly button: string;
  readonly done: string;
  readonly doneText: string;
}

const ENGLISH: MailWords = {
  unsubscribe: 'Unsubscribe',
  button: 'Send me no more mails',
  done: 'You are unsubscribed',
  doneText: 'You will get no more of these mails.',
};

const WORDS: ReadonlyMap<string, MailWords> = new Map(
  Object.entries({
    en: ENGLISH,
    de: {
      unsubscribe: 'Abmelden',
      button: 'Keine E-Mails mehr senden',
      done: 'Abgemeldet',
      doneText: 'Sie erhalten keine dieser E-Mails mehr.',
    },
    es: {
      unsubscribe: 'Cancelar la suscripción',
      button: 'No enviarme más correos',
      done: 'Suscripción cancelada',
      doneText: 'No recibirá más correos de este tipo.',
    },
    fr: {
      unsubscribe: 'Se désabonner',
      button: 'Ne plus m’envoyer d’e-mails',
      done: 'Vous êtes désabonné(e)',
      doneText: 'Vous ne recevrez plus ces e-mails.',
    },
    it: {
      unsubscribe: 'Annulla l’iscrizione',
      button: 'Non inviarmi altre e-mail',
      done: 'Iscrizione annullata',
      doneText: 'Non riceverà più queste e-mail.',
    },
    nl: {
      unsubscribe: 'Afmelden',
      button: 'Stuur mij geen e-mails meer',
      done: 'U bent afgemeld',
      doneText: 'U ontvangt deze e-mails niet meer.',
    },
    pt: {
      unsubscribe: 'Cancelar a subscrição',
      button: 'Não me enviar mais e-mails',
      done: 'Subscrição cancelada',
      doneText: 'Não receberá mais estes e-mails.',
    },
  }),
);

/** @param locale `language` or `language_COUNTRY`; other languages get English. */
export const mailWords = (locale: string): MailWords => WORDS.get(locale.slice(0, 2)) ?? ENGLISH;

/** The first locale whose language has words here. */
export const localeWithWords = (locales: readonly string[]): string =>
  locales.find((locale) => WORDS.has(locale.slice(0, 2))) ?? 'en';
