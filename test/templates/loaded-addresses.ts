/** Texts that try to load something, by all that loads. */
export const LOADING: readonly string[] = [
  '<style>@import url(https://evil.example/a.css); @font-face{font-family:a;src:url(//evil.example/a.woff)}</style>x',
  '<link rel="preload" as="font" href="https://evil.example/a.woff">x',
  '<link rel=stylesheet href=//evil.example/a.css>x',
  '<svg><image href="https://evil.example/a.png"/><use xlink:href="//evil.example/a.svg#a"/></svg>x',
  '<svg><style>@import "//evil.example/a.css"</style></svg>x',
  '<table background="https://evil.example/a.png"><tr><td background=//evil.example/b.png>x</td></tr></table>',
  '<body background="https://evil.example/a.png">x',
  '<div style="background-image:url(https://evil.example/a.png)">x</div>',
  '<p style="list-style:url(//evil.example/a.png);content:url(//evil.example/b.png)">x</p>',
  '<p class="card" style="cursor:image-set(\'//evil.example/a.png\' 1x)">x</p>',
  '<img srcset="https://evil.example/a.png 2x" sizes="1px">x',
  '<picture><source srcset="https://evil.example/a.png"><img alt="a"></picture>x',
  '<video poster="https://evil.example/a.png" src="//evil.example/a.mp4"></video>x',
  '<audio src="https://evil.example/a.mp3"></audio><track src="//evil.example/a.vtt">x',
  '<input type="image" src="https://evil.example/a.png">x',
  '<iframe srcdoc="<img src=//evil.example>"></iframe><frame src="//evil.example">x',
  '<object data="https://evil.example/a"><embed src="//evil.example/a"></object>x',
  '<meta http-equiv="refresh" content="0;url=https://evil.example"><base href="//evil.example">x',
  '<img src="//evil.example/a.png"><img src="/a.png"><img src="a.png">x',
  '<img src="cid:a"><img src="data:image/png;base64,AA"><img src="blob:https://evil.example/a">x',
  '![a]({{user.firstName}}) ![b](//evil.example/a.png) ![c](ftp://evil.example/a.png)',
  '<a href="https://ok.example" ping="https://evil.example/a" style="background:url(//evil.example)">x</a>',
  '<bgsound src="https://evil.example/a.mp3"><xml src="https://evil.example/a.xml">x',
  '<!--[if gte mso 9]><v:fill src="https://evil.example/a.png"/><![endif]-->x',
];

/** Addresses of images that harmless texts name. */
export const PICTURES: readonly string[] = ['https://evil.example/x.png'];

/** What a reader of this HTML would fetch, or have fetched: an address, or what asks for one. */
export function loadedBy(html: string): string[] {
  const tags = html.match(/<[a-z!][^>]*>/gi) ?? [];
  const images = tags.flatMap((tag) => [...tag.matchAll(/^<img\b[^>]*? src="([^"]*)"/gi)]);
  const active =
    /^<(?:link|svg|image|use|object|embed|iframe|frame|video|audio|source|track|input|base|script|bgsound|xml|v:)/i;
  const loading =
    /\s(?:srcset|background|poster|data|ping|srcdoc|xlink:href|action|formaction)\s*=|http-equiv/i;
  const styles = [
    ...tags.flatMap((tag) => [...tag.matchAll(/\sstyle="([^"]*)"/gi)].map(([, style]) => style!)),
    ...[...html.matchAll(/<style[^>]*>([^]*?)<\/style>/gi)].map(([, style]) => style!),
  ];
  return [
    ...images.map(([, address]) => address!),
    ...tags.filter((tag) => active.test(tag) || loading.test(tag.replace(/="[^"]*"/g, '='))),
    ...styles.filter((style) => /url\(|image-set|@import|@font-face|src:/i.test(style)),
  ];
}
