/**
 * Names of well-known services and systems. They look like any other word, so they stand here to be
 * understood as names in "yes, restart nginx"; a name never approves anything by itself.
 */
export const SERVICES: readonly string[] =
  `nginx apache apache2 httpd caddy traefik haproxy envoy varnish docker dockerd podman containerd kubelet
  k3s kubernetes postgres postgresql mysql mariadb sqlite redis valkey memcached mongodb mongo influxdb
  elasticsearch opensearch grafana prometheus loki alertmanager telegraf uptime kuma netdata zabbix jellyfin plex emby
  sonarr radarr lidarr prowlarr bazarr transmission qbittorrent sabnzbd pihole adguard unbound bind
  dnsmasq powerdns coredns sshd ssh fail2ban wireguard tailscale headscale openvpn nextcloud owncloud
  gitea forgejo gitlab jenkins homeassistant hass vaultwarden bitwarden portainer synapse matrix element conduit
  mosquitto mqtt frigate immich photoprism paperless syncthing samba smbd nfs minio ceph zfs proxmox pve pbs
  debian ubuntu alpine fedora rocky openwrt cron crond systemd rsyslog journald chrony ntp postfix
  dovecot authelia authentik keycloak bullmq rabbitmq kafka nats etcd consul vault nomad apt`.split(
    /\s+/,
  );
