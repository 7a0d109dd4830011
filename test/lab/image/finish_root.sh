#!/bin/sh
# Called by mmdebstrap as root of the new system, or as what looks like root there: makes the files of the lab's image
# out of the root file system in folder $1 and puts them into folder $2. Packages that guests shall have at hand without
# being installed are $3; the kernel's metapackage is $4; packages of a QEMU to unpack are $5.
#
# Everything is written by programs of Debian; ext4 file systems are filled without mounting them (mke2fs -d).
set -eu
root=$1 out=$2 offered=$3 metapackage=$4 qemu=$5
here=$(dirname "$0")
work=$root/var/tmp/lab
mkdir -p "$work"

image() { # name: the root file system as it is now, without what is mounted in it
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/cache/apt/*.bin
  copy=$out/$1.root
  mkdir "$copy"
  tar -C "$root" --one-file-system --exclude='./dev/*' -cf - . | tar -C "$copy" -xpf -
  # fakechroot writes its own folder into absolute links.
  find "$copy" -lname "$root/*" | while read -r link; do
    target=$(readlink "$link")
    ln -sfn "${target#"$root"}" "$link"
  done
  chmod -R u+rwX "$copy" # fakeroot is root in name only: without these it cannot read the files
  size=$(du -sm "$copy" | cut -f1)
  # Sparse: what is free costs nothing. The lab's file systems and databases are small; 1 GiB is room for all of them.
  mke2fs -q -t ext4 -m 0 -L "$1" -E lazy_itable_init=1,nodiscard -d "$copy" "$out/$1.ext4" "$((size * 115 / 100 + 1024))M"
  rm -rf "$copy"
}

# The kernel: unpacked, since its installation scripts make an initramfs and boot loader entries nobody needs.
kernel=$(chroot "$root" apt-cache depends "$metapackage" | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p')
chroot "$root" sh -c "cd /var/tmp/lab && apt-get download -q $kernel busybox-static"
dpkg-deb -x "$work"/linux-image-*.deb "$work/kernel"
dpkg-deb -x "$work"/busybox-static_*.deb "$work/busybox"
# Debian 13 has them in /usr/lib.
modules=$(find "$work/kernel" -path '*/lib/modules/*' -prune -print)
version=$(basename "$modules")
mkdir -p "$root/usr/lib/modules"
cp -a "$modules" "$root/usr/lib/modules/"
chroot "$root" depmod "$version"
cp "$work/kernel/boot/vmlinuz-$version" "$out/vmlinuz"
echo "$version" > "$out/kernel-version"

# A QEMU of its own, unpacked: its version need not be that of this machine.
if [ -n "$qemu" ]; then
  mkdir "$work/qemu"
  chmod 777 "$work/qemu"
  chroot "$root" sh -c "cd /var/tmp/lab/qemu && apt-get download -q $qemu"
  for file in "$work"/qemu/*.deb; do dpkg-deb -x "$file" "$out/qemu"; done
fi

# The initramfs: what it takes to mount the disks.
busybox=$(find "$work/busybox" -path "*/bin/busybox" -type f)
initramfs=$work/initramfs
mkdir -p "$initramfs/bin" "$initramfs/modules" "$initramfs/dev" "$initramfs/root"
cp "$busybox" "$initramfs/bin/"
cp "$here/initramfs_init.sh" "$initramfs/init"
chmod 755 "$initramfs/init"
for module in virtio_pci virtio_blk crc32c_generic ext4; do
  chroot "$root" modprobe -S "$version" --show-depends "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
  cp "$root$file" "$initramfs/modules/"
  basename "$file" >> "$initramfs/modules/order"
done
(cd "$initramfs" && find . | "$busybox" cpio -o -H newc -R 0:0 2> /dev/null) > "$out/initramfs"

# Packages that wait in a repository of their own.
repository=$root/srv/packages
mkdir -p "$repository"
chroot "$root" apt-get install -q -y --no-install-recommends --download-only $offered
mv "$root"/var/cache/apt/archives/*.deb "$repository/"
for file in "$repository"/*.deb; do
  dpkg-deb -f "$file"
  echo "Filename: ./$(basename "$file")"
  echo "Size: $(stat -c %s "$file")"
  echo "SHA256: $(sha256sum "$file" | cut -d' ' -f1)"
  echo
done > "$repository/Packages"
# Without this, apt asks for the list in every compression it knows, and reports an error for each.
printf 'Date: %s\nSHA256:\n %s %s Packages\n' "$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S UTC')" \
  "$(sha256sum "$repository/Packages" | cut -d' ' -f1)" "$(stat -c %s "$repository/Packages")" > "$repository/Release"
rm -rf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/var/lib/apt/lists/*
echo "deb [trusted=yes] file:/srv/packages ./" > "$root/etc/apt/sources.list"
chroot "$root" apt-get update -q

# The system.
rm -rf "$work"
cp -R "$here/overlay/." "$root/"
(cd "$here/overlay" && find .) | while read -r file; do
  chown 0:0 "$root/$file"
  chmod u=rwX,go=rX "$root/$file"
done
mkdir -p "$root/opt/tierbench"
# Any value: without one, systemd takes each boot for the first and sets up everything anew.
rm -f "$root/etc/machine-id"
echo 7469657262656e63682d6c6162000000 > "$root/etc/machine-id"
units=$root/etc/systemd/system
for unit in $(cat "$here/masked_units.txt"); do ln -sf /dev/null "$units/$unit"; done

image base
chroot "$root" apt-get install -q -y --no-install-recommends $offered
image tools
