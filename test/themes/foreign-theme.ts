/** A theme for a similar service: each helper that such themes call, and variables missing here. */

const REWARD = "{{format-reward 'REFERRER' includeUnit=true}}";
const FRIEND = "{{stringEmptyHandler referral.referredUser.firstName onEmpty='A friend'}}";

const mail = (name: string, subject: string, body: string) => ({
  configuration: { subject, themeMapping: `emails/${name}` },
  content: {
    headerImageUrl: `{{assets 'images/email/${name}.png'}}`,
    headerContent: '#Good news!\nYour friend signed up with {{companyName}}',
    bodyContent: body,
    footer: '{{companyName}}, {{address.street}} - [Terms]({{companyUrl}}/terms)',
    shareCTA: 'Keep sharing your code **{{user.referralCode}}**',
    hasShareLink: true,
    shareButtonHeader: '{{#if shareLinks}}Share{{else}}Share your link{{/if}}',
  },
});

const callToAction = (buttonText: string) => ({
  content: {
    buttonSide: 'right',
    buttonPosition: 'bottom',
    buttonColor: '#555555',
    buttonText,
    buttonWidth: 200,
  },
});

export const FOREIGN_THEME = {
  jsOptions: {
    widget: { defaultWidgetType: 'REFERRER_WIDGET' },
    conversionUrls: ['/thank-you'],
    widgetUrlMappings: [
      { url: '/*', showAsCTA: true, displayOnLoad: false, widgetType: 'REFERRER_WIDGET' },
    ],
  },
  widget: {
    REFERRER_WIDGET: {
      configuration: { themeMapping: 'widgets/referrer' },
      content: {
        widgetCustomization: {
          widgetFont: "'Times New Roman'",
          headerColor: '#444',
          heading: `Give {{format-reward 'REFERRED'}}, get ${REWARD}`,
          headerDetails:
            "{{math programDetails.referredRewardDetails.credit '/' 100}} for each of {{pluralize 'friend' referrals.totalCount}}",
          shareCodeDetails: '<span id="share-code">{{user.referralCode}}</span>',
          registrationHeader: '{{#unless user.email}}What is your e-mail address?{{/unless}}',
        },
        shareMessaging: {
          emailShareSubject: "Get {{format-reward 'REFERRED'}} from {{companyName}}",
          emailShareBody: 'Use this link {{shareLinks.emailShareLink}}',
          facebookShareSubject: "Get {{format-reward 'REFERRED'}}",
          facebookShareBody: "Use this link {{share-link 'FACEBOOK'}}",
          twitterShareBody: "Use this link {{share-link 'TWITTER'}}",
          smsShareBody: "Use this link {{share-link 'SMS'}}",
          facebookShareImageURL: "{{assets 'images/share.png'}}",
        },
      },
      cta: { content: callToAction('Give {{companyName}}')['content'] },
    },
    CONVERSION_WIDGET: {
      configuration: { themeMapping: 'widgets/conversion' },
      content: {
        widgetCustomization: {
          widgetFont: "'Lato',sans-serif",
          headerColor: '#444444',
          heading: '{{#with referredBy.referredByUser}}{{firstName}}{{/with}} invited you',
          headerDetails: 'Your code: {{referredBy.referredByUser.referralCode}}',
          widgetHeaderImage: "{{assets 'images/referred.png'}}",
          buttonCopy: 'COPY CODE',
        },
      },
      cta: { content: callToAction('Get rewarded')['content'] },
    },
  },
  email: {
    configuration: { fromName: 'Acme', fromAddress: 'refer@acme.example' },
    REFERRAL_STARTED: mail(
      'referral-started',
      `${FRIEND} brought you closer to ${REWARD}!`,
      `${FRIEND} tries {{companyName}}, and you may get ${REWARD}.` +
        '{{#each referrals.referrals}}{{#if (eq moderationStatus "APPROVED")}}{{math @index "+" 1}}. ' +
        '{{#each rewards}}{{prettyValue}}{{/each}}{{/if}}{{else}} Soon!{{/each}}',
    ),
    REFERRAL_CONVERTED: mail(
      'referral-converted',
      `You earned ${REWARD}`,
      "You earned {{math (lookup reward 'credit') '/' 100}} {{reward.unit}}, {{user.firstName}}: {{reward.text}}.",
    ),
    REFERRER_REWARD_LIMIT_REACHED: mail(
      'reward-limit',
      'You have hit the limit!',
      "Your link still works: {{share-link 'EMAIL'}} {{#if user.firstName}}{{user.firstName}}{{/if}}",
    ),
  },
};
