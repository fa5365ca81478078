const words = (text: string): string[] => text.trim().split(/\s+/);

/** Hosts that no connection is made to, by kind, as they stand in a URL. */
export const FORBIDDEN_HOSTS: Readonly<Record<string, readonly string[]>> = {
  loopback: words(`
    127.0.0.1 127.0.0.2 127.1.2.3 127.255.255.254 127.0.0.1. [::1] [0:0:0:0:0:0:0:1]
    [0000:0000:0000:0000:0000:0000:0000:0001] localhost LOCALHOST localhost. sub.localhost
    a.b.localhost.
  `),
  private: words(`
    10.0.0.0 10.0.0.1 10.255.255.255 172.16.0.1 172.20.10.1 172.31.255.255 192.168.0.1
    192.168.1.1 192.168.255.255 [fc00::1] [fd00::1] [fdff:ffff::1] [fec0::1] [feff::1]
  `),
  'link-local': words(`
    169.254.0.1 169.254.169.254 169.254.170.2 169.254.255.255 [fe80::1] [fe80::a9fe:a9fe]
    [febf::1] [fd00:ec2::254]
  `),
  unspecified: words('0.0.0.0 0 0.1.2.3 0.255.255.255 [::] [0::0] [::0.0.0.0]'),
  'carrier-grade NAT': ['100.64.0.1', '100.100.100.200', '100.127.255.255'],
  multicast: words(
    '224.0.0.1 224.0.0.251 239.255.255.250 [ff00::1] [ff02::1] [ff05::1:3] [ff0e::1]',
  ),
  reserved: words(`
    192.0.0.1 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1
    198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 240.0.0.1 250.1.2.3 255.255.255.254
    255.255.255.255 [100::1] [100:0:0:1::1] [2001:db8::1] [2001:2::1] [2001:10::1] [2001:20::1]
    [3fff::1] [5f00::1] [200::1] [4000::1] [8000::1] [e000::1]
  `),
  'IPv4 in IPv6': words(`
    [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:127.0.0.1] [0:0:0:0:0:ffff:7f00:0001]
    [::ffff:10.0.0.1] [::ffff:192.168.1.1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe]
    [::ffff:0.0.0.0] [::ffff:0:127.0.0.1] [::ffff:0:8.8.8.8] [::127.0.0.1] [::7f00:1]
    [::10.0.0.1] [::a00:1] [::8.8.8.8] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a00:1]
    [64:ff9b::169.254.169.254] [64:ff9b::808:808] [64:ff9b:1::7f00:1]
    [64:ff9b:1:fffe::10.0.0.1] [2002:7f00:1::1] [2002:a00:1::] [2002:a9fe:a9fe::1]
    [2001::7f00:1] [2001:0:4136:e378:8000:63bf:80ff:fffe] [2606:4700::5efe:127.0.0.1]
    [2606:4700::200:5efe:10.0.0.1] [fe80::5efe:127.0.0.1]
  `),
  'other spellings of numbers': [
    '2130706433',
    '017700000001',
    '0x7f000001',
    '0177.1',
    '127.0x1',
    '127.0.0.01',
    '0xc0.0xa8.0x1.0x1',
    '169.254.43518',
    '0x0',
    '4294967295',
    '%31%32%37.0.0.1',
    '127。0。0。1',
    '①②⑦.⓪.⓪.①',
    'ｌｏｃａｌｈｏｓｔ',
    'loc%61lhost',
  ],
};

/** What a name may resolve to, by the name, without any connection being made. */
export const FORBIDDEN_NAMES: Readonly<Record<string, readonly string[]>> = {
  'loopback.test': ['127.0.0.1'],
  'loopback6.test': ['::1'],
  'metadata.test': ['169.254.169.254'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'public-then-private.test': ['93.184.216.34', '127.0.0.1'],
  'private-then-public.test': ['127.0.0.1', '93.184.216.34'],
  'public-with-loopback6.test': ['93.184.216.34', '::1'],
  'public6-with-private.test': ['2606:4700::1111', '10.0.0.1'],
  'many-with-one-private.test': [
    ...Array.from({ length: 20 }, (_, index) => `93.184.216.${index + 1}`),
    '192.168.0.1',
  ],
};

/** Public hosts, which the guard lets through. */
export const PUBLIC_HOSTS: readonly string[] = words(`
  8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255
  169.255.0.1 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1
  223.255.255.254 134744072 [2606:4700:4700::1111] [2a00:1450:4001:800::200e] [::ffff:8.8.8.8]
  public.test
`);

/** Texts that are no URL of an endpoint at all. */
export const MALFORMED_URLS: readonly string[] = [
  '',
  'receiver.example',
  '//receiver.example/hook',
  'http:///hook',
  'http:receiver.example',
  'http:\\\\receiver.example',
  'http://receiver.example\\@127.0.0.1/',
  'ftp://receiver.example/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'http://user:password@receiver.example/',
  'http://@receiver.example/',
  'http://receiver.example@127.0.0.1/',
  'http://receiver.example/#',
  'http://receiver.example#@127.0.0.1/',
  ' http://receiver.example/',
  'http://receiver.example/a\nb',
  'h\nttp://receiver.example/',
  'http://receiver.example\u0000.test/',
  'http://receiver.example:65536/',
  'http://1.2.3.256/',
  'http://[::1%25eth0]/',
  `http://receiver.example/${'a'.repeat(2_000 - 'http://receiver.example/'.length + 1)}`,
];
