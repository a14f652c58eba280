// The script that sets up a Windows node at its first start, and at any later one: builds put it into the image, and a
// plain Windows Server can be given the same. It was parsed by an independent grammar and never executed.
import { manifestPath } from './first-boot.ts';

/** Where the image keeps it. */
export const firstBootPath = 'C:\\imago\\first-boot.ps1';

export const firstBootScript = String.raw`# Sets up a Windows node from its node config, on an image with a manifest and on a plain Windows Server alike.
# Version 1. It can run any number of times: what holds already is left as it is. It needs no arguments.
# This script was parsed by an independent grammar and was never executed: see docs/windows.md.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

$folder = 'C:\imago'
$manifestPath = '${manifestPath}'
$reportPath = 'C:\imago\first-boot.json'
$metadata = 'http://169.254.169.254/metadata/instance/compute/userData?api-version=2021-12-13&format=text'
$steps = New-Object System.Collections.ArrayList

function Add-Step($what, $name) {
    [void]$steps.Add(@{ do = $what; name = $name })
}

function Write-Report($state, $message) {
    $report = @{ version = 1; state = $state; message = $message; steps = $steps }
    $text = ConvertTo-Json -InputObject $report -Depth 5
    $next = $reportPath + '.next'
    Set-Content -Path $next -Value $text -Encoding UTF8
    Move-Item -Path $next -Destination $reportPath -Force
}

function Read-NodeConfig {
    for ($attempt = 1; $attempt -le 60; $attempt++) {
        try {
            $encoded = Invoke-RestMethod -Uri $metadata -Headers @{ Metadata = 'true' } -TimeoutSec 10
            $bytes = [System.Convert]::FromBase64String($encoded)
            $text = [System.Text.Encoding]::UTF8.GetString($bytes)
            return ConvertFrom-Json -InputObject $text
        }
        catch {
            if ($attempt -eq 60) {
                throw
            }
            Start-Sleep -Seconds 5
        }
    }
}

function Read-Manifest {
    if (Test-Path -LiteralPath $manifestPath) {
        $text = Get-Content -LiteralPath $manifestPath -Raw
        $found = ConvertFrom-Json -InputObject $text
        if ($found.format -eq 1) {
            return $found
        }
    }
    return $null
}

function Test-Content($path, $sha256) {
    if (-not (Test-Path -LiteralPath $path)) {
        return $false
    }
    $hash = Get-FileHash -LiteralPath $path -Algorithm SHA256
    return $hash.Hash.ToLowerInvariant() -eq $sha256
}

function Install-File($file) {
    if ($file.path -notmatch '^C:\\' -or $file.path -match '\.\.') {
        throw ('The path ' + $file.path + ' is not allowed.')
    }
    if ($file.url -notmatch '^https://') {
        throw ('The address of ' + $file.name + ' has no TLS.')
    }
    if (Test-Content $file.path $file.sha256) {
        Add-Step 'use' $file.name
        return
    }
    $parent = Split-Path -Path $file.path -Parent
    [void](New-Item -Path $parent -ItemType Directory -Force)
    $next = $file.path + '.next'
    Invoke-WebRequest -Uri $file.url -OutFile $next -UseBasicParsing -TimeoutSec 600
    if (-not (Test-Content $next $file.sha256)) {
        Remove-Item -LiteralPath $next -Force
        throw ('What was downloaded for ' + $file.name + ' has another sha256.')
    }
    Move-Item -LiteralPath $next -Destination $file.path -Force
    Add-Step 'download' $file.name
}

function Set-Setting($setting, $done) {
    $current = $null
    if (Test-Path -LiteralPath $setting.key) {
        $key = Get-Item -LiteralPath $setting.key
        $current = $key.GetValue($setting.value)
    }
    else {
        [void](New-Item -Path $setting.key -Force)
    }
    if ($null -ne $current -and $current -eq $setting.data) {
        Add-Step 'keep' $setting.name
        return
    }
    [void](New-ItemProperty -LiteralPath $setting.key -Name $setting.value -PropertyType $setting.type -Value $setting.data -Force)
    if ($done -contains $setting.name) {
        Add-Step 'set again' $setting.name
    }
    else {
        Add-Step 'set' $setting.name
    }
}

function Start-NodeService($name) {
    Set-Service -Name $name -StartupType Automatic
    $service = Get-Service -Name $name
    if ($service.Status -ne 'Running') {
        Start-Service -Name $name
    }
    Add-Step 'start' $name
}

[void](New-Item -Path $folder -ItemType Directory -Force)
try {
    $config = Read-NodeConfig
    if ($config.schemaVersion -ne 1) {
        throw 'The node config has a version that this script does not know.'
    }
    $manifest = Read-Manifest
    $done = @()
    if ($null -ne $manifest) {
        $done = @($manifest.settings)
    }
    foreach ($file in @($config.windows.files)) {
        Install-File $file
    }
    foreach ($setting in @($config.windows.settings)) {
        Set-Setting $setting $done
    }
    foreach ($service in @($config.windows.services)) {
        Start-NodeService $service
    }
    Write-Report 'ready' ''
}
catch {
    Write-Report 'failed' $_.Exception.Message
    exit 1
}
`;
