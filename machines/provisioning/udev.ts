/**
 * Texts of udev rules (udev(7), systemd.device(5)).
 *
 * @module
 */

/**
 * Starts the unit that makes a device DAX memory as soon as the device is there. After the number 90 of daxctl's own
 * rule, and added to what that rule wants.
 */
export function kmemRule(dax: string): { path: string; text: string } {
  return {
    path: `/etc/udev/rules.d/99-tierbench-${dax}.rules`,
    text: `ACTION=="add", SUBSYSTEM=="dax", KERNEL=="${dax}", TAG+="systemd", ` +
      `ENV{SYSTEMD_WANTS}+="tierbench-kmem@${dax}.service"\n`,
  };
}
