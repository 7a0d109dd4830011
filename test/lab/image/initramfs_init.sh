#!/bin/busybox sh
# PID 1 of the initramfs: mounts the root file system (first disk) and the suite (second disk) and hands over to
# systemd. Mounted here, the suite costs no waiting for udev.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
while read -r module; do
  insmod "/modules/$module"
done < /modules/order
mount -t ext4 -o rw /dev/vda /root && mount -t ext4 -o ro /dev/vdb /root/opt/tierbench || {
  echo "lab: cannot mount the disks"
  cat /proc/partitions
  poweroff -f
}
umount /dev
exec switch_root /root /sbin/init
