/**
 * Styles of all mails. They are copied into the elements, because mail programs drop style sheets;
 * programs with a dark mode keep the media query.
 */
export const MAIL_STYLE = `
body { margin: 0; padding: 0; background-color: #f2f4f7; }
.page { padding: 24px 12px; background-color: #f2f4f7; }
.card { max-width: 560px; margin: 0 auto; padding: 24px; background-color: #ffffff; color: #1f2933;
  border-radius: 8px; font-family: Helvetica, Arial, sans-serif; font-size: 16px; line-height: 1.5;
  overflow-wrap: anywhere; }
.card a { color: #0b4f9e; }
.card a.button { display: inline-block; padding: 12px 24px; border-radius: 6px; font-weight: bold;
  text-decoration: none; }
.card img { max-width: 100%; height: auto; }
.card .image { display: block; width: 100%; margin: 0 0 16px; border-radius: 4px; }
.card h1 { font-size: 24px; line-height: 1.25; margin: 0 0 16px; }
.card h2 { font-size: 20px; line-height: 1.3; margin: 16px 0 8px; }
.card pre, .card code { font-size: 15px; white-space: pre-wrap; }
.card blockquote { margin: 0 0 16px; padding-left: 12px; border-left: 3px solid #8a94a6; }
.card .header { font-size: 20px; font-weight: bold; }
.card .share { text-align: center; margin-top: 24px; }
.card .link { font-size: 14px; }
.card .footer { margin-top: 24px; padding-top: 12px; border-top: 1px solid #d5dae1; font-size: 13px;
  color: #52606d; }
.card .footer a { color: #52606d; }
@media (prefers-color-scheme: dark) {
  body, .page { background-color: #11151a !important; }
  .card { background-color: #1b2129 !important; color: #e6eaf0 !important; }
  .card a { color: #8ec1ff !important; }
  .card .footer, .card .footer a { color: #b4bdc9 !important; }
  .card .footer { border-top-color: #3a4450 !important; }
}
`;
