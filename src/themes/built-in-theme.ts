/** The theme of a tenant without one, and the values of members that a tenant's theme omits. */

const COLOR = '#1f5fa8';
const HELLO = '{{#if user.firstName}}Hi {{user.firstName}},{{else}}Hi,{{/if}}\n\n';
const FOOTER =
  'You receive this mail because you take part in our referral program. You can unsubscribe at any time.';

const button = (buttonText: string) => ({
  buttonSide: 'right',
  buttonPosition: 'bottom',
  buttonColor: COLOR,
  buttonText,
  /** Pixels. */
  buttonWidth: 160,
});

const mail = ({
  subject,
  header,
  body,
  shares,
}: {
  readonly subject: string;
  readonly header: string;
  readonly body: string;
  readonly shares: boolean;
}) => ({
  configuration: { subject, themeMapping: 'default' },
  content: {
    headerImageUrl: '',
    headerContent: header,
    bodyContent: HELLO + body,
    footer: FOOTER,
    /** Above the link. */
    shareCTA: shares ? 'Know someone else who would like this? Share your link:' : '',
    hasShareLink: shares,
    shareButtonHeader: 'Share your link',
  },
});

interface EmailConfiguration {
  readonly fromName: string;
  readonly fromAddress?: string;
}

export const BUILT_IN_THEME = {
  jsOptions: {
    widget: { defaultWidgetType: 'REFERRER_WIDGET' },
    conversionUrls: [] as readonly string[],
    widgetUrlMappings: [] as readonly object[],
  },
  widget: {
    REFERRER_WIDGET: {
      configuration: { themeMapping: 'default' },
      content: {
        widgetCustomization: {
          widgetFont: 'Helvetica Neue',
          headerColor: COLOR,
          heading: 'Give a reward, get a reward',
          headerDetails: 'Share your link. When a friend joins, both of you are rewarded.',
          shareCodeDetails: 'Or give your friends your code:',
          registrationHeader: 'Enter your e-mail address to get your own link',
        },
        shareMessaging: {
          emailShareSubject: 'I thought of you',
          emailShareBody:
            'I like this, and so might you. With my link you get a reward: {{shareLink}}',
          facebookShareSubject: 'A reward for you',
          facebookShareBody: 'I like this, and so might you. Join with my link and get a reward.',
          twitterShareBody: 'I like this, and so might you: {{shareLink}}',
          smsShareBody: 'I like this, and so might you: {{shareLink}}',
          facebookShareImageURL: '',
        },
      },
      cta: { content: button('Refer a friend') },
    },
    CONVERSION_WIDGET: {
      configuration: { themeMapping: 'default' },
      content: {
        widgetCustomization: {
          widgetFont: 'Helvetica Neue',
          headerColor: COLOR,
          heading: 'You have a reward',
          headerDetails:
            '{{#if friend.name}}{{friend.name}} gave you a reward.{{else}}A friend gave you a reward.{{/if}}',
          widgetHeaderImage: 'https://example.com/reward.png',
          buttonCopy: 'Get my reward',
        },
      },
      cta: { content: button('Your reward') },
    },
  },
  email: {
    /** Without an address: the service's is used. */
    configuration: { fromName: 'Referral program' } as EmailConfiguration,
    REFERRAL_STARTED: mail({
      subject: '{{#if friend.name}}{{friend.name}}{{else}}A friend{{/if}} joined with your link',
      header: 'Your friend is on board',
      body:
        '{{#if friend.name}}{{friend.name}}{{else}}A friend{{/if}} joined with your link. Thank you for sharing it!' +
        '{{#if reward.text}}\n\nYou earn **{{reward.text}}** as soon as the referral is complete.{{/if}}',
      shares: true,
    }),
    REFERRAL_CONVERTED: mail({
      subject: 'Your referral is complete',
      header: 'It worked!',
      body:
        'Your referral of {{#if friend.name}}{{friend.name}}{{else}}a friend{{/if}} is complete.' +
        '{{#if reward.text}} You earned **{{reward.text}}**.{{/if}}\n\nThank you!',
      shares: true,
    }),
    REFERRER_REWARD_LIMIT_REACHED: mail({
      subject: 'You have reached the limit of rewards',
      header: 'You have reached the limit',
      body:
        'Another friend of yours joined. The program allows a limited number of rewards, and you have earned them all, so there is no reward for this referral.' +
        '\n\nThank you for sharing your link so often!',
      shares: false,
    }),
    REWARD_EARNED: mail({
      subject: 'You earned {{#if reward.text}}{{reward.text}}{{else}}a reward{{/if}}',
      header: 'You earned a reward',
      body: '{{#if reward.text}}**{{reward.text}}** is{{else}}A reward is{{/if}} yours. Thank you for being with us!',
      shares: true,
    }),
    REWARD_EXPIRES_SOON: mail({
      subject: 'Your reward expires soon',
      header: 'Use your reward in time',
      body: '{{#if reward.text}}Your reward, **{{reward.text}}**,{{else}}Your reward{{/if}} expires within a week. Use it before it is gone.',
      shares: false,
    }),
    WELCOME: mail({
      subject: 'Welcome!',
      header: 'Welcome!',
      body:
        '{{#if friend.name}}{{friend.name}}{{else}}A friend{{/if}} invited you, and here you are.' +
        '{{#if reward.text}} Your reward: **{{reward.text}}**.{{/if}}' +
        '\n\nYou can invite friends, too, with a link of your own.',
      shares: true,
    }),
  },
  page: {
    heading:
      '{{#if friend.name}}{{friend.name}}{{else}}A friend{{/if}} {{#if reward.text}}gives you {{reward.text}}{{else}}invites you{{/if}}',
    text: 'Use this code when you sign up:',
    buttonText: 'Go to the site',
    /** Target of the button; empty: no button. */
    siteUrl: '',
    logoUrl: '',
    color: COLOR,
  },
};
