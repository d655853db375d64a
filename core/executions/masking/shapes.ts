import type { Range } from './ranges.ts';

// Tokens that are known by their looks, whoever prints them. The prefixes are the issuers' own.
const TOKENS: readonly string[] = [
  'gh[pousr]_[A-Za-z0-9]{20,255}', // GitHub
  'github_pat_[A-Za-z0-9_]{20,255}',
  'gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{16,255}', // GitLab
  'xox[abeoprs]-[A-Za-z0-9-]{10,255}', // Slack
  'xapp-[A-Za-z0-9-]{10,255}',
  '(?:AKIA|ASIA)[A-Z0-9]{16}', // AWS
  'sk-[A-Za-z0-9_-]{20,255}', // OpenAI, Anthropic and others
  '(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,255}', // Stripe
  'whsec_[A-Za-z0-9+/=]{16,255}',
  'AIza[A-Za-z0-9_-]{35}', // Google
  'ya29\\.[A-Za-z0-9_-]{20,2048}',
  'GOCSPX-[A-Za-z0-9_-]{20,64}',
  'eyJ[A-Za-z0-9_-]{8,8192}\\.[A-Za-z0-9_-]{8,8192}(?:\\.[A-Za-z0-9_-]{0,8192}){1,3}', // JWT, JWE
  'sy[tr]_[A-Za-z0-9+/=]{1,255}_[A-Za-z0-9]{16,64}_[A-Za-z0-9]{4,12}', // Matrix (Synapse)
  'm[ac][trc]_[A-Za-z0-9]{20,64}_[A-Za-z0-9]{4,12}', // Matrix (authentication service)
  'MDA[a-z0-9][A-Za-z0-9_-]{100,1024}', // macaroons
  'npm_[A-Za-z0-9]{36}',
  'pypi-[A-Za-z0-9_-]{50,1024}',
  'do[opr]_v1_[a-f0-9]{64}', // DigitalOcean
  'hf_[A-Za-z0-9]{30,64}', // Hugging Face
  'gsk_[A-Za-z0-9]{30,128}',
  'tskey-[a-z]+-[A-Za-z0-9]{6,64}-[A-Za-z0-9]{10,64}', // Tailscale
  'hv[sbr]\\.[A-Za-z0-9_-]{20,512}', // Vault
  'dckr_pat_[A-Za-z0-9_-]{20,64}', // Docker
  'SWMTKN-1-[a-z0-9]{40,64}-[a-z0-9]{20,32}',
  'K10[0-9a-f]{48,128}::[a-z-]{1,32}:[A-Za-z0-9]{8,128}', // k3s
  'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}', // Shopify
  'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{32,64}', // SendGrid
  'glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}', // Grafana
  'lin_api_[A-Za-z0-9]{32,64}',
  '[0-9]{8,10}:AA[A-Za-z0-9_-]{33}', // Telegram
  'AGE-SECRET-KEY-1[A-Z0-9]{20,100}', // age
  'AGE-PLUGIN-[A-Z0-9-]{1,64}-1[A-Z0-9]{20,512}',
  'b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=]{20,16384}', // an OpenSSH key without its frame
];
const TOKEN = new RegExp(`(?<![A-Za-z0-9_])(?:${TOKENS.join('|')})(?![A-Za-z0-9])`, 'g');

// Password hashes of crypt(3) as in shadow and htpasswd files: they can be guessed at leisure.
const HASH =
  /\$(?:[156]|y|gy|7|2[abxy]|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[a-z0-9-]{0,16})\$[A-Za-z0-9./$,=+_-]{16,512}/g;

/** Each has what leads up to the secret as its first group and the secret as its second. */
const LED: readonly RegExp[] = [
  /([?&](?:access_?token|refresh_?token|id_?token|token|api_?key|key|secret|client_?secret|password|passwd|pwd|auth|sig|signature|x-amz-signature|x-amz-security-token|x-amz-credential)=)([^&\s'"#<>]{1,4096})/gi,
  // Bearer tokens outside a header, where they hold a digit as no ordinary word does.
  /(\bbearer[ \t]{1,8})(?=[^\s\d]{0,256}\d)([A-Za-z0-9._~+/-]{8,4096}=*)/gi,
  // Proxmox: API tokens and tickets.
  /(\bPVEAPIToken=[^\s=!]{1,128}![^\s=]{1,128}=)([A-Fa-f0-9-]{16,64})/g,
  /(\bPVE(?:MAIL|BS)?:[^\s:]{1,128}:)([A-F0-9]{8}::[A-Za-z0-9+/=]{20,1024})/g,
  // SQL and configuration files that name the secret without an equals sign.
  /(\bidentified[ \t]{1,8}(?:with[ \t]{1,8}\S{1,64}[ \t]{1,8})?by[ \t]{1,8}(?:password[ \t]{1,8})?')([^'\n]{1,512})/gi,
  /(\b(?:password|encrypted password|set password[^\n']{0,128})[ \t]{1,8}')([^'\n]{1,512})(?=')/gi,
  /(^[ \t]{0,32}(?:requirepass|masterauth|rootpw|bindpw|olcRootPW:?)[ \t]{1,32}"?)([^\s"]{1,512})/gim,
  /(\bmachine\s{1,16}\S{1,256}\s{1,16}login\s{1,16}\S{1,256}\s{1,16}password\s{1,16})(\S{1,512})/gi,
  /(^[^:\s]{1,256}:(?:5432|6432|\*):[^:\s]{1,128}:[^:\s]{1,128}:)(\S{1,512})$/gm,
  /("auth"\s{0,8}:\s{0,8}")([A-Za-z0-9+/=]{12,1024})(?=")/g,
];

/** Secrets that are known by their own shape or by the few words right before them. */
export function shapeRanges(text: string): Range[] {
  const found: Range[] = [];
  for (const pattern of [TOKEN, HASH]) {
    for (const match of text.matchAll(pattern)) {
      found.push({ start: match.index, end: match.index + match[0].length });
    }
  }
  for (const pattern of LED) {
    for (const match of text.matchAll(pattern)) {
      const start = match.index + (match[1]?.length ?? 0);
      found.push({ start, end: start + (match[2]?.length ?? 0) });
    }
  }
  return found;
}
