import { BlockList, isIP, isIPv4 } from 'node:net';

/**
 * The address blocks of IPv4 that are not the public internet: the IANA registry of special-purpose addresses, multicast and
 * what is reserved. Cloud metadata services live in the link-local block, in 100.64.0.0/10 and 192.0.0.0/24.
 */
const SPECIAL_V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Public by its number, but in Azure it is the host of the machine.
  ['168.63.129.16', 32],
] as const;

/**
 * Of IPv6 only 2000::/3 is given out. In it these lead elsewhere: protocol assignments with Teredo, 6to4, documentation. All
 * else (loopback, link-local, unique local, IPv4-mapped, NAT64 64:ff9b::/96, multicast …) lies outside of it.
 */
const PUBLIC_V6 = ['2000::', 3] as const;
const SPECIAL_V6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const;

const special = new BlockList();
for (const [net, bits] of SPECIAL_V4) special.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of SPECIAL_V6) special.addSubnet(net, bits, 'ipv6');
const givenOut = new BlockList();
givenOut.addSubnet(PUBLIC_V6[0], PUBLIC_V6[1], 'ipv6');

/**
 * Whether an address is one of the public internet (Z6). `address` is an IP address in its plain form, as a resolver gives it;
 * anything else is not public.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  if (isIPv4(address)) return !special.check(address, 'ipv4');
  return givenOut.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
