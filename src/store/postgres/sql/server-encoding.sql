-- Text of any language must be kept as it is.
select current_setting('server_encoding') as encoding;
